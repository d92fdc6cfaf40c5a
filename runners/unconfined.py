"""No sandbox at all: the control. What does not get out from here does not get out anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runners.allow_all import beside, decisions
from runners.contract import (
    ARGV_CHANNELS,
    Expressible,
    Found,
    Identity,
    Inexpressible,
    Launch,
    Missing,
    Policy,
    Running,
)
from runners.local import Local


class Runner(Local):
    """Executes the command as it is. Every policy can be asked of it, and it enforces none."""

    channels = ARGV_CHANNELS | beside.CHANNELS

    def find(self, identity: Identity) -> Found | Missing:
        """Always there."""
        del identity
        return Found("no sandbox")

    def express(self, policy: Policy) -> Expressible | Inexpressible:
        """Everything, as nothing is kept."""
        del policy
        return Expressible()

    def argv(self, launch: Launch) -> tuple[str, ...]:
        """The command itself."""
        return launch.command

    def start(self, launch: Launch) -> Running:
        """The command; with an egress policy, beside a proxy that allows everything. Raises StartError."""
        return beside.start(launch, super().start)

    def decide(self, question: str, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        """Everything is fine."""
        return decisions.decide(question, facts)
