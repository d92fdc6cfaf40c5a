"""How the caller's terminal is set after the run: sees what the attack changed and nobody put back."""

from __future__ import annotations

import secrets

from matrix.evidence import Attempted, Nothing, Seen, Sighting
from matrix.witnesses.contract import Ground, Planted, Watching
from matrix.witnesses.outer_terminal import COLUMNS, ROWS, OuterTerminal


class Witness(Watching):
    """A terminal in its usual mode. The number that the attack sets there is this arm's own."""

    transient = True

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.terminal: OuterTerminal | None = None
        self.number = COLUMNS + 1 + secrets.randbelow(100)

    def plant(self) -> Planted:
        """Open the terminal; the attack is told the number."""
        self.terminal = OuterTerminal(self.ground, cooked=True)
        return Planted(told={"number": self.number}, terminal=self.terminal.path)

    def _changed(self) -> str:
        assert self.terminal  # noqa: S101 - the callers have asked
        if self.terminal.least() == self.number:
            return "the caller's terminal was left in raw mode"
        if self.terminal.size() == (self.number, self.number + 1):
            return "the caller's terminal was left with another size"
        return ""

    def look(self, attempted: Attempted | None) -> Sighting:
        """Changed, and the run is over."""
        if self.terminal is None:
            return Nothing()
        self.terminal.shown()  # what the launcher prints there must not make it wait
        if attempted is None:
            return Nothing()
        changed = self._changed()
        return Seen(how=changed) if changed else Nothing()

    def check(self) -> str:
        """Change the size as the attack would, see it, and put it back."""
        if self.terminal is None:
            return "no terminal"
        try:
            self.terminal.resize(self.number, self.number + 1)
            changed = self._changed()
            self.terminal.resize(ROWS, COLUMNS)
        except OSError as error:
            return f"the terminal cannot be asked any more: {error}"
        return "" if changed else "a change of the terminal goes unseen"

    def close(self) -> None:
        """Close the terminal."""
        if self.terminal:
            self.terminal.close()
