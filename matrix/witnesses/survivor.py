"""Processes that stayed: sees a beat, or the process itself, clearly after the launcher was reaped.

The beat is a line in a file of the workspace. A sandbox may show a copy of the workspace, so the
stray also carries the first letters of the token as its name, by which it is found in the process
table whatever its namespaces, environment or arguments are.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

import psutil

from matrix.evidence import Attempted, Nothing, Seen, Sighting
from matrix.witnesses.contract import Ground, Planted, Watching
from runners.contract import Running

GRACE = 0.1  # seconds that a sandbox may take to fall after its launcher; strays beat every 0.03 s
SCAN = 0.1  # seconds between two looks into the process table
SPEAK = 0.3  # seconds from the first beat in which the attempt has had its say


class Witness(Watching):
    """`plant.end` names a signal that the launcher is ended with, once a stray has beaten."""

    transient = True
    grace = GRACE
    patience = 2.0  # seconds that an unconfined stray may take to be noticed
    lasts = 2.0  # a stray beats for 4 s, of which a row may spend 1.5 s before the launcher's last word

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.path = ground.corner / "beats"
        self.name = ground.token[:14]  # a process's name has 15 letters
        self.log = -1
        self.launcher = 0
        self.ending = str(ground.case.plant.get("end", ""))
        self.beaten_at = self.gone_at = self.scanned_at = 0.0
        self.before = -1  # bytes in the file when the grace was over

    def plant(self) -> Planted:
        """Make the file; the attack is told it, and the token to write and to be called."""
        self.log = os.open(self.ground.file(self.path, ""), os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        return Planted(told={"log": str(self.path), "token": self.ground.token})

    def started(self, running: Running) -> None:
        """Know whom to end."""
        self.launcher = running.pid

    def look(self, attempted: Attempted | None) -> Sighting:
        """A stray lives on; while the launcher runs, end it if the row says so."""
        if self.log < 0:
            return Nothing()
        if attempted is None:
            self._end()
            return Nothing()
        now = time.monotonic()
        self.gone_at = self.gone_at or now
        if now < self.gone_at + GRACE:
            return Nothing()
        if self.before < 0:
            self.before = self._written()
        if self._written() > self.before:
            since = now - self.gone_at
            return Seen(how=f"a process of the sandbox beats {since:.2f} s after its launcher's end")
        if now > max(self.gone_at + 3 * GRACE, self.scanned_at + SCAN):
            self.scanned_at = now
            for stray in self.strays():
                return Seen(how=f"process {stray.pid} of the sandbox is alive after its launcher's end")
        return Nothing()

    def _written(self) -> int:
        return os.fstat(self.log).st_size

    def _end(self) -> None:
        """End the launcher, not yet reaped, when a stray has beaten and the attempt has had its say."""
        if not (self.ending and self.launcher and self._written()):
            return
        self.beaten_at = self.beaten_at or time.monotonic()
        if time.monotonic() > self.beaten_at + SPEAK:
            os.kill(self.launcher, signal.Signals[self.ending])
            self.ending = ""

    def strays(self) -> list[psutil.Process]:
        """Living processes that carry this arm's name."""
        found = psutil.process_iter(["name", "status"])
        return [p for p in found if p.info["name"] == self.name and p.info["status"] != psutil.STATUS_ZOMBIE]

    def check(self) -> str:
        """Our own line grows the file, and this very process is found by its name."""
        before = self._written()
        os.write(self.log, b"own\n")
        grown, linked = self._written() > before, os.fstat(self.log).st_nlink
        self.before = self._written()
        if not (grown and linked):
            return f"the file of beats was taken away: {self.path}"
        name = psutil.Process().name()
        if name not in {process.info["name"] for process in psutil.process_iter(["name"])}:
            return "the process table does not even show the harness"
        return ""

    def close(self) -> None:
        """End what is left: by the file, which it looks for, and by its process id."""
        self.path.unlink(missing_ok=True)
        if self.log >= 0:
            os.close(self.log)
            self.log = -1
            for stray in self.strays():
                with suppress(psutil.NoSuchProcess):  # it has just ended by itself
                    stray.kill()
