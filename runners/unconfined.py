"""No sandbox at all: the control. What does not get out from here does not get out anywhere."""

from __future__ import annotations

from runners.contract import Expressible, Found, Identity, Inexpressible, Launch, Missing, Policy
from runners.local import Local


class Runner(Local):
    """Executes the command as it is. Every policy can be asked of it, and it enforces none."""

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
