"""What an attack can do to a victim, each with what the attack is told and how it is seen afterwards."""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from matrix.witnesses.contract import Unplantable, fresh_token
from matrix.witnesses.victim_process import Victim

PATIENCE = 0.5  # seconds that our own signal may take to be reported


class Cell:
    """The memory cell comes to hold the token."""

    def __init__(self, victim: Victim, token: str, path: Path) -> None:
        del path
        self.victim, self.token = victim, token
        self.told: Mapping[str, Any] = {"token": token}

    def seen(self) -> str:
        """The victim itself reads its cell."""
        held = self.victim.ask("show").get("cell") == self.token
        return "the victim found the canary in its memory" if held else ""

    def prove(self) -> str:
        """It would tell of a change."""
        fresh = fresh_token()
        told = self.victim.ask(f"cell {fresh}").get("cell") == fresh
        return "" if told else "the victim does not tell of a change in its memory"


class File:
    """The file outside comes to hold the token, seen through a descriptor opened before."""

    def __init__(self, victim: Victim, token: str, path: Path) -> None:
        del victim
        self.token, self.path = token, path
        self.file = path.open("rb", buffering=0)
        self.told: Mapping[str, Any] = {"token": token}

    def _content(self) -> bytes:
        return os.pread(self.file.fileno(), 4096, 0)

    def seen(self) -> str:
        """Read afresh."""
        return f"{self.path.name} outside holds the canary" if self.token.encode() in self._content() else ""

    def prove(self) -> str:
        """A change through its own path shows."""
        fresh = fresh_token()
        try:
            with self.path.open("r+") as file:
                file.write(fresh)
        except OSError as error:
            return f"{self.path}: {error.strerror}"
        return "" if fresh.encode() in self._content() else f"{self.path} is another file by now"


class Signal:
    """The victim receives SIGUSR1; nobody else knows its number."""

    def __init__(self, victim: Victim, token: str, path: Path) -> None:
        del token, path
        self.victim = victim
        self.value = secrets.randbelow(1 << 30) + 1
        self.told: Mapping[str, Any] = {"value": self.value}

    def _counts(self, report: Mapping[str, int]) -> bool:
        return report["signal"] == signal.SIGUSR1

    def seen(self) -> str:
        """Its report, in which the sender is 0 when it is in a pid namespace of its own."""
        for report in self.victim.listen():
            if self._counts(report):
                return f"the victim received SIGUSR1 from process {report['sender']}, value {report['value']}"
        return ""

    def prove(self) -> str:
        """A signal of ours is reported: SIGURG, which comes the same way and is no sighting."""
        before = len(self.victim.listen())
        try:
            os.kill(self.victim.pid, signal.SIGURG)
        except OSError as error:
            return f"our own SIGURG: {error.strerror}"
        heard = self.victim.listen(PATIENCE)[before:]
        return "" if heard else "the victim did not report our own SIGURG"


class Queued(Signal):
    """The victim receives SIGUSR1 with the very value that was told."""

    def _counts(self, report: Mapping[str, int]) -> bool:
        return report["signal"] == signal.SIGUSR1 and report["value"] == self.value


class Number:
    """A number that the kernel keeps for the victim becomes the one that was told."""

    def __init__(
        self, what: str, value: int, read: Callable[[], int], write: Callable[[int], object]
    ) -> None:
        self.what, self.value, self.read, self.write = what, value, read, write
        self.told: Mapping[str, Any] = {"value": value}

    def seen(self) -> str:
        """Ask the kernel."""
        try:
            return f"the victim's {self.what} is {self.value}" if self.read() == self.value else ""
        except OSError:
            return ""

    def prove(self) -> str:
        """A change of ours shows. Each of these numbers may be raised, or lowered, by its owner."""
        other = self.value + 1
        try:
            self.write(other)
            return "" if self.read() == other else f"the victim's {self.what} does not change"
        except OSError as error:
            return f"the victim's {self.what}: {error.strerror}"


def nice(victim: Victim, token: str, path: Path) -> Number:
    """The nice value, never 19 so that it can be raised once more."""
    del token, path
    present = os.getpriority(os.PRIO_PROCESS, victim.pid)
    if present >= 17:  # noqa: PLR2004 - 19 is the highest
        raise Unplantable(f"the nice value is {present} already and cannot be raised twice")
    value = present + 1 + secrets.randbelow(18 - present)
    return Number(
        "nice value",
        value,
        lambda: os.getpriority(os.PRIO_PROCESS, victim.pid),
        lambda to: os.setpriority(os.PRIO_PROCESS, victim.pid, to),
    )


def limit(victim: Victim, token: str, path: Path) -> Number:
    """The soft limit of RLIMIT_LOCKS, which has no effect."""
    del token, path
    return Number(
        "limit RLIMIT_LOCKS",
        secrets.randbelow(victim.locks[1] - 1),
        lambda: int(victim.ask("show").get("limits", "-1").split()[0]),
        lambda to: victim.ask(f"limit {to}"),
    )


def oom_score(victim: Victim, token: str, path: Path) -> Number:
    """How soon it is chosen when memory runs out; raising needs no privilege."""
    del token, path
    file = Path(f"/proc/{victim.pid}/oom_score_adj")
    present = int(file.read_text())
    if present >= 990:  # noqa: PLR2004 - 1000 is the highest
        raise Unplantable(f"oom_score_adj is {present} already and cannot be raised twice")
    value = present + 1 + secrets.randbelow(999 - present)
    return Number("oom_score_adj", value, lambda: int(file.read_text()), lambda to: file.write_text(str(to)))


Sign = Cell | File | Signal | Number
SIGNS: Mapping[str, Callable[[Victim, str, Path], Sign]] = {
    "cell": Cell,
    "file": File,
    "signal": Signal,
    "queued": Queued,
    "nice": nice,
    "limit": limit,
    "oom-score": oom_score,
}
"""By the name that a row's `plant.takes` gives."""
