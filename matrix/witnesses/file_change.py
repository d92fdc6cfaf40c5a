"""A planted file that must not change, seen from outside: any difference of it or of its directory counts.

`plant.object` is "file" (the default) or "absent": a name that does not exist, which counts only
when it holds the canary, because launchers leave empty placeholders behind. `plant.ctime` compares
the change time too. `plant.cwd` starts the launcher in the directory. For the rest see planting.
"""

from __future__ import annotations

from pathlib import Path

from matrix.evidence import Acted, Attempted, Nothing, Seen, Sighting
from matrix.witnesses import planting
from matrix.witnesses.contract import Ground, Planted, Watching, fresh_token
from matrix.witnesses.planting import Side
from matrix.witnesses.portrait import Watched

FILLING = "planted by escape-matrix, and nothing else is in it\n" * 4  # longer than a token


def holds(path: Path, token: str) -> bool:
    """Whether that name leads to the token: a link's text, a file's content, or its directory's."""
    if path.is_symlink():
        return token in str(path.readlink())
    if path.is_dir():
        return any(holds(entry, token) for entry in path.iterdir())
    return path.is_file() and token.encode() in path.read_bytes()


class Witness(Watching):
    """Sees any change of the planted file, or the canary at a name that did not exist."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.absent = ground.case.plant.get("object", "file") == "absent"
        self.sides: list[Side] = []
        self.watched: list[Watched] = []
        self.seen = ""
        self.blind = ""

    def plant(self) -> Planted:
        """Plant both sides alike and open them."""
        self.sides = [planting.forbidden(self.ground), planting.granted(self.ground)]
        outside, inside = self.sides
        for side in self.sides:
            self._plant(side)
        outside.told["token"], inside.told["token"] = self.ground.token, self.ground.twin_token
        return Planted(
            told=outside.told,
            twin=inside.told,
            protected=(outside.file,) if self.ground.case.plant.get("where") == "denied" else (),
            cwd=outside.folder if self.ground.case.plant.get("cwd") else None,
        )

    def _plant(self, side: Side) -> None:
        if self.absent:
            return
        twin = side is self.sides[1]
        self.ground.file(side.file, FILLING)
        planting.alias(self.ground, side, twin=twin)
        side.told["changed"] = side.file.stat().st_ctime_ns
        # The twin stands where its file is; the attempt stands where the launcher left it.
        side.told["stand"] = str(side.folder) if twin else ""
        side.told["own"] = twin
        ctime = bool(self.ground.case.plant.get("ctime"))
        self.watched.append(Watched(file=side.file, directory=side.folder, ctime=ctime))

    def _changes(self, number: int, token: str) -> str:
        """What happened to one side, in words."""
        if self.absent:
            return "the name exists and holds the canary" if holds(self.sides[number].file, token) else ""
        return self.watched[number].changes()

    def look(self, attempted: Attempted | None) -> Sighting:
        """Compare with what it looked like before the launch."""
        del attempted
        try:
            self.seen = self.seen or self._changes(0, self.ground.token)
        except OSError as error:  # as of a placeholder that a launcher left and nobody may read
            self.blind = f"cannot look at the planted name: {error}"
        return Seen(how=f"seen from outside: {self.seen}") if self.seen else Nothing()

    def check(self) -> str:
        """Make a change of our own at the same place, and undo it."""
        file, token = self.sides[0].file, fresh_token()
        if self.blind:
            return self.blind
        try:
            if self.absent:
                own = file.with_name(f"{file.name}-own")
                own.touch(exist_ok=False)
                own.write_text(token)
                found = holds(own, token)
                own.unlink()
            else:
                file.write_text(token)
                found = bool(self.watched[0].changes())
                file.write_text(FILLING)
                self.watched[0].settle()
        except OSError as error:
            return f"cannot change the planted file any more: {error}"
        return "" if found else "a change of our own was not seen"

    def twin(self, attempted: Attempted) -> bool:
        """Whether the same call changed the file in the workspace, as seen from inside and outside."""
        said = attempted.said
        return isinstance(said, Acted) and bool(said.inside and self._changes(1, self.ground.twin_token))

    def close(self) -> None:
        """Close and remove everything."""
        for watched in self.watched:
            watched.close()
        planting.take_away(self.ground, *self.sides)
