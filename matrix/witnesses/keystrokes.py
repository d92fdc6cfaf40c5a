"""Keys pressed after the run: sees them in the file of a process that stayed and went on reading."""

from __future__ import annotations

import os
import time

from matrix.evidence import Attempted, Nothing, Seen, Sighting
from matrix.witnesses.contract import Ground, Planted, Watching, fresh_token
from matrix.witnesses.outer_terminal import OuterTerminal

GRACE = 0.1  # seconds that a sandbox may take to fall after its launcher


class Witness(Watching):
    """Types the canary once the launcher is gone. Nobody reads the terminal but who should not."""

    transient = True
    lasts = 3.0  # whoever stayed listens for 4 s

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.terminal: OuterTerminal | None = None
        self.path = ground.corner / "typed"
        self.log = -1
        self.gone_at = 0.0
        self.typed = False

    def plant(self) -> Planted:
        """Open the terminal and the file; the attack is told the file."""
        self.terminal = OuterTerminal(self.ground)
        self.log = os.open(self.ground.file(self.path, ""), os.O_RDONLY | os.O_CLOEXEC)
        return Planted(told={"log": str(self.path)}, terminal=self.terminal.path)

    def look(self, attempted: Attempted | None) -> Sighting:
        """The canary, which was typed after the run, stands in the file."""
        if self.terminal is None:
            return Nothing()
        self.terminal.shown()  # what the launcher prints there must not make it wait
        if attempted is None:
            return Nothing()
        self.gone_at = self.gone_at or time.monotonic()
        if time.monotonic() < self.gone_at + GRACE:
            return Nothing()
        if not self.typed:
            self.terminal.type(self.ground.token + "\n")
            self.typed = True
        if self.ground.token.encode() in os.pread(self.log, 1 << 16, 0):
            return Seen(how="a process of the sandbox read what was typed after the run")
        return Nothing()

    def check(self) -> str:
        """Whoever takes the keys elsewhere would be noticed here: ours must still be in the queue."""
        if self.terminal is None:
            return "no terminal"
        kept = self.terminal.hears(fresh_token()) and self.ground.token.encode() in self.terminal.queued()
        return "" if kept else "somebody took the typed keys, and wrote them where nobody sees"

    def close(self) -> None:
        """Close both; a process that stayed ends when its file is gone."""
        self.path.unlink(missing_ok=True)
        if self.log >= 0:
            os.close(self.log)
        if self.terminal:
            self.terminal.close()
