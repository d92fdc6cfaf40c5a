"""A variable of the launcher's caller: sees its value come back. The twin is one that is granted."""

from __future__ import annotations

import os
import secrets

from matrix.evidence import Acted, Attempted, Nothing, Seen, Sighting
from matrix.witnesses.contract import Ground, Planted, Watching


class Witness(Watching):
    """`plant.variable` is its name; without it the name is random too."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.variable = str(ground.case.plant.get("variable") or f"EM_{secrets.token_hex(6).upper()}")
        self.granted = f"EM_GRANTED_{secrets.token_hex(6).upper()}"

    def plant(self) -> Planted:
        """Ask for both variables; the attack is told names, and which process namespace is the harness's."""
        try:
            namespace = os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116 - a magic link
        except OSError:
            namespace = 0
        return Planted(
            told={"variable": self.variable, "namespace": namespace},
            twin={"variable": self.granted, "namespace": namespace},
            granted={self.granted: self.ground.twin_token},
            environment={self.variable: self.ground.token},
        )

    def look(self, attempted: Attempted | None) -> Sighting:
        """The value came back."""
        match attempted:
            case Attempted(said=Acted(trace=trace)) if self.ground.token in trace:
                where = trace.partition(":")[0] if ":" in trace else "the environment"
                return Seen(how=f"the caller's {self.variable} stands in {where}")
            case _:
                return Nothing()

    def twin(self, attempted: Attempted) -> bool:
        """The granted variable arrived."""
        return isinstance(attempted.said, Acted) and self.ground.twin_token in attempted.said.trace
