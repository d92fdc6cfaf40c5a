"""A planted file that must not be locked. The lock is looked for while the attempt runs.

What was noticed is answered with a file in the workspace, so that the attempt need not wait.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from matrix.model import Acted, Attempted, Nothing, Seen, Sighting
from matrix.witnesses import planting
from matrix.witnesses.contract import Ground, Planted, Watching
from matrix.witnesses.planting import Side

WAIT = 2  # seconds that an attempt keeps its lock, to be noticed


def locked(descriptor: int) -> bool:
    """Whether somebody else holds an exclusive lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return False


class Witness(Watching):
    """Sees an exclusive flock() on the planted file."""

    transient = True

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.sides: list[Side] = []
        self.descriptor = -1
        self.seen = False

    def plant(self) -> Planted:
        """A file on each side, which may only be read."""
        for side in (planting.forbidden(self.ground), planting.granted(self.ground)):
            self.sides.append(side)
            self.ground.file(side.file, "planted by escape-matrix\n", 0o444)
            side.told.update(noticed=str(side.scratch / "noticed"), wait=0)
        outside, inside = self.sides
        outside.told["wait"] = WAIT
        self.descriptor = os.open(outside.file, os.O_RDONLY)
        return Planted(told=outside.told, twin=inside.told)

    def look(self, attempted: Attempted | None) -> Sighting:
        """Try to share the lock; being refused is the sighting."""
        del attempted
        if not self.seen and locked(self.descriptor):
            self.seen = True
            Path(self.sides[0].told["noticed"]).touch()
        return Seen(how="seen from outside: the planted file was locked") if self.seen else Nothing()

    def check(self) -> str:
        """Lock it ourselves."""
        own = os.open(self.sides[0].file, os.O_RDONLY)
        try:
            fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return "" if locked(self.descriptor) else "a lock of our own was not seen"
        except OSError as error:
            return f"cannot lock the planted file: {error}"
        finally:
            os.close(own)

    def twin(self, attempted: Attempted) -> bool:
        """Whether the lock in the workspace held against a second one."""
        return isinstance(attempted.said, Acted) and bool(attempted.said.inside)

    def close(self) -> None:
        """Close and remove everything."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
        planting.take_away(self.ground, *self.sides)
