"""What the two sides of an attempt have to say: the attack from inside, the witness from outside. Pure."""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass
from enum import StrEnum

from runners.contract import Exit

# What an attempt said, a closed sum.


@dataclass(frozen=True, kw_only=True)
class Refused:
    """A call failed at the last named step."""

    errno: int
    text: str = ""  # what came with it, which may be anything

    def __str__(self) -> str:
        """The errno by its name."""
        return errno.errorcode.get(self.errno, f"errno {self.errno}")

    @property
    def line(self) -> str:
        """The first line of what came with it, shortened: an answer's status, say."""
        return re.sub(r"^\[Errno -?\d+\] ", "", self.text.strip()).partition("\n")[0].strip()[:120]


@dataclass(frozen=True, kw_only=True)
class Acted:
    """Every call worked. `trace` is what came back, `inside` what turned up inside instead of outside."""

    trace: str = ""
    inside: str = ""


@dataclass(frozen=True, kw_only=True)
class Absent:
    """There was nothing to act on, after a look where the attempt must see at least itself."""

    looked_at: str


@dataclass(frozen=True, kw_only=True)
class Unsupported:
    """The attack cannot be tried there."""

    why: str


@dataclass(frozen=True, kw_only=True)
class Died:
    """The attempt's own process was ended by a signal."""

    signal: int


@dataclass(frozen=True)
class TimedOut:
    """The attempt's own deadline passed."""


@dataclass(frozen=True, kw_only=True)
class Silent:
    """The attempt began, or should have, and said nothing that can be used (a crash included)."""

    why: str


@dataclass(frozen=True, kw_only=True)
class NotStarted:
    """Nothing spoke inside: the launcher failed, or showed no workspace, or no interpreter."""

    why: str


Said = Refused | Acted | Absent | Unsupported | Died | TimedOut | Silent | NotStarted


@dataclass(frozen=True, kw_only=True)
class Attempted:
    """One attempt as reported from inside."""

    said: Said
    steps: tuple[str, ...] = ()
    alive: bool = False  # the parent read this attempt's fresh token afterwards
    seconds: float = 0.0


# What a witness saw.


@dataclass(frozen=True, kw_only=True)
class Seen:
    """This attempt's canary crossed."""

    how: str
    latency: float = 0.0  # seconds from the end of the attempt to the sighting


@dataclass(frozen=True)
class Nothing:
    """Nothing crossed, as far as the witness can see."""


@dataclass(frozen=True, kw_only=True)
class Blind:
    """The witness proved unable to see: a dead listener, a victim that is gone."""

    why: str


@dataclass(frozen=True, kw_only=True)
class Unplanted:
    """The canary could not be planted on this host."""

    why: str


Sighting = Seen | Nothing | Blind | Unplanted


# What became of what had to get through, beside what had not to: of rows about a proxy.


@dataclass(frozen=True, kw_only=True)
class Arrived:
    """All of it was seen to arrive where the row says; the last of it at `where`."""

    where: str = ""


@dataclass(frozen=True, kw_only=True)
class Missed:
    """This did not arrive, whatever the attempt says."""

    what: str


Delivery = Arrived | Missed


NO_ANSWER = frozenset({0, 126, 127, *range(129, 193)})
"""Exit codes that are no refusal to start: content, not executable, not found, ended by a signal."""


class TwinAnswer(StrEnum):
    """What became of the allowed act beside an attempt."""

    ANSWERED = "answered"
    REFUSED = "refused"
    SILENT = "silent"


@dataclass(frozen=True, kw_only=True)
class Observation:
    """One arm of a row: what was said, what was seen, and how its twin fared."""

    attempted: Attempted
    sighting: Sighting
    twin: TwinAnswer
    argv: tuple[str, ...] = ()
    exit: Exit | None = None
    errors: str = ""  # the end of what the launcher printed on standard error
    late: bool = False  # the launcher was killed at its deadline
    delivery: Delivery = Arrived()

    @property
    def declined(self) -> bool:
        """Whether the launcher said no: it ended by its own will, in time, with a code and a message."""
        ended = self.exit is not None and not self.exit.signal and self.exit.code not in NO_ANSWER
        return ended and not self.late and bool(self.errors.strip())
