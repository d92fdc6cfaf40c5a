"""A terminal that is not the caller's: sees the canary on its screen or in its input queue."""

from __future__ import annotations

from matrix.evidence import Attempted, Nothing, Seen, Sighting
from matrix.witnesses.contract import Ground, Planted, Watching, fresh_token
from matrix.witnesses.outer_terminal import OuterTerminal


class Witness(Watching):
    """Belongs to the same account; the attack is told its path and the device it lies on."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.terminal: OuterTerminal | None = None

    def plant(self) -> Planted:
        """Open it."""
        self.terminal = OuterTerminal(self.ground)
        path = self.terminal.path
        told = {"path": str(path), "device": path.stat().st_dev, "token": self.ground.token}
        return Planted(told=told)

    def look(self, attempted: Attempted | None) -> Sighting:
        """The canary is shown, or was typed."""
        del attempted
        if self.terminal is None:
            return Nothing()
        token = self.ground.token.encode()
        if token in self.terminal.shown():
            return Seen(how="the canary is shown on a bystander's terminal")
        if token in self.terminal.queued():
            return Seen(how="the canary came into a bystander's terminal as input")
        return Nothing()

    def check(self) -> str:
        """Type a token of our own."""
        if self.terminal is None:
            return "no terminal"
        return "" if self.terminal.hears(fresh_token()) else "a typed token does not arrive in the terminal"

    def close(self) -> None:
        """Close the terminal."""
        if self.terminal:
            self.terminal.close()
