"""A symbolic link in the workspace on the way to a path that the launcher is asked to guard.

Whatever is created through the link appears in a directory outside, which is watched by path and by
descriptor from before the launch. `plant.ask` says what is asked for that path: "hidden" or
"protected". `args.rest` is what lies below the link (empty: the link itself dangles), `args.root`
where the launcher sees the host's root. In an arm called "benign" a real directory takes the link's
place, which no launcher has a reason to decline.
"""

from __future__ import annotations

from pathlib import Path

from matrix.evidence import Attempted, Nothing, Seen, Sighting
from matrix.witnesses.contract import Ground, Planted, Watching
from matrix.witnesses.portrait import Watched


class Witness(Watching):
    """Sees anything new in the directory behind the link."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.watched: Watched | None = None
        self.trap = Path()
        self.seen = ""

    def plant(self) -> Planted:
        """An empty directory outside, and the link to it, or to a name in it."""
        args, ground = self.ground.case.args, self.ground
        trap = ground.place(ground.case.place)
        rest = str(args["rest"])
        link = ground.corner / "guarded"
        if ground.arm == "benign":
            ground.folder(link)
        else:
            to = trap if rest else trap / "new"
            link.symlink_to(f"{args['root']}{to}")
            ground.own(link)
        self.trap = trap
        self.watched = Watched(directory=trap)
        asked = (link / rest if rest else link,)
        hidden = ground.case.plant["ask"] == "hidden"
        return Planted(
            told={"link": str(link)}, hidden=asked if hidden else (), protected=() if hidden else asked
        )

    def look(self, attempted: Attempted | None) -> Sighting:
        """Compare the directory with what it looked like before the launch."""
        del attempted
        if self.watched:
            self.seen = self.seen or self.watched.changes()
        return Seen(how=f"created outside, through the link: {self.seen}") if self.seen else Nothing()

    def check(self) -> str:
        """Create something ourselves, and take it away."""
        if self.watched is None:
            return "no directory"
        own = self.trap / "own"
        try:
            own.touch()
            found = self.watched.changes()
            own.unlink()
        except OSError as error:
            return f"cannot create anything behind the link any more: {error}"
        self.watched.settle()
        return "" if found else "a new file of our own was not seen"

    def close(self) -> None:
        """Close and remove everything."""
        if self.watched:
            self.watched.close()
            self.ground.remove(self.trap)
