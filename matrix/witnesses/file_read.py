"""A planted file that must not be read. The canary is in it, and never among what the attack is told.

Only the canary in an attempt's own trace counts. `plant.as` says what holds it: "content" (the
default), "name" (of an entry of the directory), "link" (a link's text) or "attribute".
`plant.cwd` starts the launcher in the directory. For the rest see planting.
"""

from __future__ import annotations

import os

from matrix.evidence import Acted, Attempted, Nothing, Seen, Sighting
from matrix.witnesses import planting
from matrix.witnesses.contract import Ground, Planted, Unplantable, Watching
from matrix.witnesses.planting import Side

ATTRIBUTE = "user.escape-matrix"


class Witness(Watching):
    """Sees the canary in what the attempt gave back."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.kind = str(ground.case.plant.get("as", "content"))
        self.sides: list[Side] = []
        self.descriptors: list[int] = []  # of the planted file and its directory, wherever they go
        self.seen = False

    def plant(self) -> Planted:
        """Plant both sides alike, each with a token of its own."""
        outside, inside = planting.forbidden(self.ground), planting.granted(self.ground)
        for side, token in ((outside, self.ground.token), (inside, self.ground.twin_token)):
            self.sides.append(side)
            self._hold(side, token)
            planting.alias(self.ground, side, twin=side is inside)
        opened = (outside.folder,) if self.kind in {"link", "name"} else (outside.file, outside.folder)
        self.descriptors = [os.open(path, os.O_RDONLY) for path in opened]
        # The twin stands where its file is; the attempt stands where the launcher left it.
        outside.told["stand"], inside.told["stand"] = "", str(inside.folder)
        return Planted(
            told=outside.told,
            twin=inside.told,
            hidden=(outside.file,) if self.ground.case.plant.get("where") == "denied" else (),
            cwd=outside.folder if self.ground.case.plant.get("cwd") else None,
        )

    def _hold(self, side: Side, token: str) -> None:
        """Let the planted object hold the token."""
        if self.kind == "link":
            side.file.symlink_to(token)
            self.ground.own(side.file)
            return
        self.ground.file(side.file, token if self.kind == "content" else "no canary\n")
        if self.kind == "name":
            self.ground.file(side.folder / token, "no canary\n")
        elif self.kind == "attribute":
            try:
                os.setxattr(side.file, ATTRIBUTE, token.encode())
            except (OSError, AttributeError) as error:
                raise Unplantable(f"no extended attribute can be set there: {error}") from error

    def _held(self) -> str:
        """What the planted object holds now, also where an attack has moved it."""
        first = self.descriptors[0]
        match self.kind:
            case "link":
                return os.readlink(self.sides[0].file.name, dir_fd=first)
            case "name":
                return " ".join(os.listdir(first))
            case "attribute":
                return os.getxattr(first, ATTRIBUTE).decode()
            case _:
                return os.pread(first, 4096, 0).decode()

    def look(self, attempted: Attempted | None) -> Sighting:
        """The canary came back as a trace."""
        self.seen = self.seen or gave_back(attempted, self.ground.token)
        return Seen(how="the attempt gave back what only the planted file holds") if self.seen else Nothing()

    def check(self) -> str:
        """Read it ourselves, through what was opened before the run."""
        try:
            there = self.ground.token in self._held()
        except OSError as error:
            return f"the canary is gone: {error}"
        return "" if there else "the canary is no longer where it was planted"

    def twin(self, attempted: Attempted) -> bool:
        """Whether the same call gave back the token that lies in the workspace."""
        return gave_back(attempted, self.ground.twin_token)

    def close(self) -> None:
        """Close and remove everything."""
        for descriptor in self.descriptors:
            os.close(descriptor)
        planting.take_away(self.ground, *self.sides)


def gave_back(attempted: Attempted | None, token: str) -> bool:
    """Whether the attempt's trace holds the token."""
    said = attempted.said if attempted else None
    return isinstance(said, Acted) and token in said.trace + said.inside
