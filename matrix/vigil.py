"""After the verdict: attempts that were held stay watched for a while, as a canary may come late."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field

from matrix.arm import Arm
from matrix.evidence import Seen
from matrix.model import Case, Leg
from matrix.record import Amend


@dataclass
class Vigil:
    """The arms of attempts whose rows were held. They are open until the vigil ends."""

    backend: str
    leg: Leg
    arms: ExitStack = field(default_factory=ExitStack)
    held: list[tuple[Case, Arm]] = field(default_factory=list[tuple[Case, Arm]])

    def end(self) -> list[Amend]:
        """A last look at every held row, then all is taken away; what came late is escaped after all."""
        with self.arms:
            late = [(case, arm.again(case)) for case, arm in self.held]
        return [
            Amend(case=case.id, backend=self.backend, leg=self.leg, evidence=sighting.how)
            for case, sighting in late
            if isinstance(sighting, Seen)
        ]
