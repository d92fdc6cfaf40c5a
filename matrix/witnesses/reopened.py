"""A file outside that the launcher inherits open for reading only, by the harness's own wish.

`plant.takes` is content or mode: what an attack changes through the descriptor.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from matrix.evidence import Attempted, Nothing, Seen, Sighting
from matrix.witnesses.contract import Ground, Planted, Watching, fresh_token

BEFORE, TOLD, OURS = 0o666, 0o646, 0o664  # modes as planted, as the attack is told, and for our own proof


def _known(descriptor: int) -> tuple[int, int]:
    """Which file a descriptor means; none when it is closed."""
    try:
        found = os.fstat(descriptor)
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino


class Witness(Watching):
    """Seen through a second descriptor, which nobody inherits."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.takes = str(ground.case.plant["takes"])
        self.folder: Path | None = None
        self.open: list[int] = []
        self.file = (0, 0)  # device and inode: a descriptor's number may come to mean another file

    def plant(self) -> Planted:
        """Open it twice; the attack is told by what numbers the file is known."""
        self.folder = self.ground.place(self.ground.case.place)
        path = self.ground.file(self.folder / "outside.txt", "as planted", BEFORE)
        self.open = [os.open(path, os.O_RDONLY), os.open(path, os.O_RDWR)]
        self.file = _known(self.open[0])
        told = {
            "device": self.file[0],
            "inode": self.file[1],
            "token": self.ground.token,
            "mode": TOLD,
        }
        return Planted(told=told, descriptors=(self.open[0],))

    def _mode(self) -> int:
        return stat.S_IMODE(os.fstat(self.open[1]).st_mode)

    def look(self, attempted: Attempted | None) -> Sighting:
        """The file has the token, or the mode that the attack was told."""
        del attempted
        if not self.open or _known(self.open[1]) != self.file:
            return Nothing()
        if self.takes == "mode":
            return Seen(how=f"the file outside has mode {TOLD:o}") if self._mode() == TOLD else Nothing()
        held = self.ground.token.encode() in os.pread(self.open[1], 4096, 0)
        return Seen(how="the file outside holds the canary") if held else Nothing()

    def check(self) -> str:
        """A change of ours shows."""
        if any(_known(descriptor) != self.file for descriptor in self.open) or not self.open:
            return "the descriptors no longer mean the planted file"
        if self.takes == "mode":
            os.fchmod(self.open[0], OURS)
            return "" if self._mode() == OURS else "the file does not show a change of its mode"
        fresh = fresh_token().encode()
        os.pwrite(self.open[1], fresh, 0)
        return "" if fresh in os.pread(self.open[0], 4096, 0) else "the file does not show a change"

    def close(self) -> None:
        """Close and remove it."""
        for descriptor in self.open:
            if _known(descriptor) == self.file:
                os.close(descriptor)
        if self.folder is not None:
            self.ground.remove(self.folder)
