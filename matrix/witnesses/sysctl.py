"""A kernel setting of the run's own network namespace; no setting of the machine is ever touched.

`plant.key` is a number below /proc/sys/net that each network namespace has for itself. An attack is
told a value of its own; the setting is put back when the arm is over.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from matrix import world
from matrix.evidence import Attempted, Nothing, Seen, Sighting
from matrix.witnesses.contract import Ground, Planted, Unplantable, Watching

LOWEST, HIGHEST = 65, 255  # of a time to live


class Witness(Watching):
    """Read in the harness, which is in the same network namespace."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.key = str(ground.case.plant["key"])
        self.path = Path("/proc/sys") / self.key
        self.before = ""
        self.value = LOWEST + secrets.randbelow(HIGHEST - LOWEST)

    def plant(self) -> Planted:
        """Only in the world: elsewhere the setting would be the machine's."""
        if not isinstance(world.standing(), world.Inside):
            raise Unplantable("the harness is not in a network namespace of its own")
        self.before = self.path.read_text().strip()
        if int(self.before) == self.value:
            self.value = LOWEST + HIGHEST - self.value
        return Planted(told={"value": self.value})

    def look(self, attempted: Attempted | None) -> Sighting:
        """The setting has the value that was told."""
        del attempted
        now = self.path.read_text().strip()
        return Seen(how=f"{self.key} outside is {now}") if now == str(self.value) else Nothing()

    def check(self) -> str:
        """A change of ours shows."""
        other = str(self.value - 1)
        try:
            self.path.write_text(other)
        except OSError as error:
            return f"{self.path}: {error.strerror}"
        return "" if self.path.read_text().strip() == other else f"{self.path} does not show a change"

    def close(self) -> None:
        """Put it back."""
        if self.before:
            self.path.write_text(self.before)
