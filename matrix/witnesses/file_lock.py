"""A planted file that must not be locked, looked at while the attempt says that it holds the lock."""

from __future__ import annotations

import fcntl
import os

from matrix.evidence import Acted, Attempted, Nothing, Seen, Sighting
from matrix.meeting import Meeting
from matrix.witnesses import planting
from matrix.witnesses.contract import Ground, Planted, Watching
from matrix.witnesses.planting import Side


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
        self.meeting = Meeting(ground.corner)
        self.sides: list[Side] = []
        self.descriptor = -1
        self.seen = False

    def plant(self) -> Planted:
        """A file on each side, which may only be read. The twin meets nobody: its `met` is there already."""
        self.sides = [planting.forbidden(self.ground), planting.granted(self.ground)]
        outside, inside = self.sides
        for side in self.sides:
            self.ground.file(side.file, "planted by escape-matrix\n", 0o444)
        self.descriptor = os.open(outside.file, os.O_RDONLY)
        met = {"ready": str(inside.scratch / "ready"), "met": str(inside.file)}
        return Planted(told={**outside.told, **self.meeting.told}, twin={**inside.told, **met})

    def look(self, attempted: Attempted | None) -> Sighting:
        """When the attempt is ready, try to share the lock; being refused is the sighting."""
        del attempted
        if self.meeting.due():
            self.seen = self.seen or locked(self.descriptor)
            self.meeting.acknowledge()
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
