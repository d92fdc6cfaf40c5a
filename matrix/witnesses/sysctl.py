"""A kernel setting of the run's own network namespace; no setting of the machine is ever touched.

`plant.key` is a list of ports below /proc/sys/net that each network namespace has for itself. Other
rows change the list at the same time, so each arm has a port of its own, and only that one counts.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from matrix import world
from matrix.evidence import Attempted, Nothing, Seen, Sighting
from matrix.witnesses.contract import Ground, Planted, Unplantable, Watching

LOWEST, HIGHEST = 20000, 60000


def ports(text: str) -> set[int]:
    """The ports of a list that has single ones and ranges."""
    found: set[int] = set()
    for entry in filter(None, text.strip().split(",")):
        first, _, last = entry.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def port() -> int:
    """A port that no other arm is likely to have: an even one, so that two never become a range."""
    return LOWEST + 2 * secrets.randbelow((HIGHEST - LOWEST) // 2)


class Witness(Watching):
    """Read in the harness, which is in the same network namespace."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.key = str(ground.case.plant["key"])
        self.path = Path("/proc/sys") / self.key
        self.value = port()
        self.planted = False

    def plant(self) -> Planted:
        """Only in the world: elsewhere the setting would be the machine's."""
        if not isinstance(world.standing(), world.Inside):
            raise Unplantable("the harness is not in a network namespace of its own")
        try:
            while self.value in ports(self.path.read_text()):
                self.value = port()
        except FileNotFoundError as error:
            raise Unplantable(f"this kernel has no {self.path}") from error
        self.planted = True
        return Planted(told={"value": self.value})

    def look(self, attempted: Attempted | None) -> Sighting:
        """The list has the port that was told."""
        del attempted
        if self.planted and self.value in ports(self.path.read_text()):
            return Seen(how=f"{self.key} outside has port {self.value}")
        return Nothing()

    def check(self) -> str:
        """An entry of ours shows."""
        own = port()
        try:
            self._change({own}, set())
            seen = own in ports(self.path.read_text())
            self._change(set(), {own})
        except OSError as error:
            return f"{self.path}: {error.strerror}"
        return "" if seen else f"{self.path} does not show a change"

    def close(self) -> None:
        """Take the port out again."""
        if self.planted:
            self._change(set(), {self.value})

    def _change(self, add: set[int], remove: set[int]) -> None:
        kept = (ports(self.path.read_text()) | add) - remove
        self.path.write_text(",".join(map(str, sorted(kept))) or "\n")
