"""The caller's terminal: sees the canary in its input queue, during the run and after it.

It is read throughout, as a sandbox may flush the queue when it exits: a shell that reads meanwhile
has the bytes by then.
"""

from __future__ import annotations

from matrix.evidence import Attempted, Nothing, Seen, Sighting
from matrix.witnesses.contract import Ground, Planted, Watching, fresh_token
from matrix.witnesses.outer_terminal import OuterTerminal


class Witness(Watching):
    """Standard input, standard error and controlling terminal of the launcher."""

    transient = True

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.terminal: OuterTerminal | None = None
        if ground.case.args.get("way") == "wait":
            self.lasts = 1.5  # who waits for the terminal gives up after 2 s

    def plant(self) -> Planted:
        """Open the terminal; the attack is told the token alone."""
        self.terminal = OuterTerminal(self.ground)
        return Planted(told={"token": self.ground.token}, terminal=self.terminal.path)

    def look(self, attempted: Attempted | None) -> Sighting:
        """The canary was typed for us."""
        if self.terminal is None:
            return Nothing()
        self.terminal.shown()  # what the launcher prints there must not make it wait
        if self.ground.token.encode() not in self.terminal.queued():
            return Nothing()
        when = "" if attempted is None else ", after the launcher had exited"
        return Seen(how=f"the canary came into the caller's terminal as input{when}")

    def check(self) -> str:
        """Type a token of our own."""
        if self.terminal is None:
            return "no terminal"
        return "" if self.terminal.hears(fresh_token()) else "a typed token does not arrive in the terminal"

    def close(self) -> None:
        """Close the terminal."""
        if self.terminal:
            self.terminal.close()
