"""The words of the project as values. Pure: nothing here touches the machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from runners.contract import Channel

PLATFORMS = ("linux", "macos", "windows", "kubernetes")
PLACES = ("beside", "home", "tmp", "var-tmp", "run", "dev-shm", "root-owned", "second-mount")

Subject = Literal["inside", "launch", "decision"]
Twin = Literal["alive", "same-call"]


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a row or a table stands, for messages and annotations."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        """file:line, as editors and CI read it."""
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """One kind of way out that a sandbox must close."""

    id: str
    title: str
    why: str
    platforms: tuple[str, ...]
    references: tuple[str, ...]
    source: Source = Source(file="")


@dataclass(frozen=True, kw_only=True)
class Case:
    """One row: this mechanism, by this attack, with these arguments, on these platforms."""

    id: str
    title: str
    mechanism: str
    platforms: tuple[str, ...]
    attack: str  # the file in attacks/, without .py
    witness: str  # the file in matrix/witnesses/, without .py
    decisive: str  # the step from which on a refusal counts
    args: Mapping[str, Any] = field(default_factory=dict[str, Any])  # told to the attack as they are
    plant: Mapping[str, Any] = field(default_factory=dict[str, Any])  # told to the witness
    place: str = "beside"  # where outside the witness plants, one of PLACES
    twin: Twin = "alive"
    subject: Subject = "inside"
    channels: frozenset[Channel] = frozenset()  # what the runner must carry for the row to mean anything
    alone: bool = False  # leaves traces, so it shares no launch
    world: bool = False  # needs addresses of our own, so it runs only in the run's network namespace
    time_refuses: bool = False  # a packet filter may drop silently: a time-out can be a refusal
    seconds: float = 5.0  # deadline of one attempt
    workspace: str = ""  # a name for the workspace, where the name itself is the attack
    switches: tuple[str, ...] = ()  # host facts that explain a failed control
    allowed: bool = False  # its last act must get through, to where the row says: refused, it is untested
    rules: tuple[str, ...] = ()  # the specification's rules that it proves
    sources: tuple[str, ...] = ()
    source: Source = Source(file="")

    @property
    def proxied(self) -> bool:
        """Whether the attempt goes through a proxy of the runner's; `plant` is then a scene."""
        return Channel.PROXY in self.channels

    @property
    def direct(self) -> bool:
        """Whether it goes around the proxy of a sandbox that has one; `plant` then holds `policy` too."""
        return not self.proxied and self.subject != "decision" and "policy" in self.plant


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule of the specification that the reference sandbox follows."""

    id: str
    holds: str  # what must hold, in a sentence
    specification: str  # where it says so
    unproved: str = ""  # why no row proves it yet
    source: Source = Source(file="")


@dataclass(frozen=True, kw_only=True)
class Untestable:
    """A row that says for which mechanisms and platforms nothing can run, and why."""

    id: str
    title: str
    mechanisms: tuple[str, ...]
    platforms: tuple[str, ...]
    untested: str
    source: Source = Source(file="")


@dataclass(frozen=True, kw_only=True)
class Table:
    """All rows, in the order of the file."""

    mechanisms: tuple[Mechanism, ...]
    cases: tuple[Case, ...]
    untestable: tuple[Untestable, ...]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Mechanisms or cases that a vendor says the sandbox closes, and where it says so."""

    closes: tuple[str, ...]
    but: tuple[str, ...] = ()  # cases of those mechanisms that it says nothing of
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class Listed:
    """Why a wide-open column holds a row all the same."""

    why: str
    only: Literal["", "root", "user", "sometimes"] = ""  # as whom; sometimes: the machine decides

    def holds(self, identity: str) -> bool:
        """Whether the row may be held when this identity runs it."""
        return self.only in {"", "sometimes", identity}


@dataclass(frozen=True, kw_only=True)
class Backend:
    """One configured sandbox under test: a column of the matrix."""

    id: str
    title: str
    runner: str
    platforms: tuple[str, ...]
    options: Mapping[str, Any]
    claims: Claim | None  # None: the file does not say, which means every row
    built_in: bool = True  # from the project's own file, not from one of the user's
    default: bool = True  # runs when no backend is named
    wide_open: bool = False  # a configuration that must let everything out: a proof of the harness
    only: str = ""  # a channel: the column is for rows that need it, and planned for no other
    listed: Mapping[str, Listed] = field(default_factory=dict[str, Listed])  # wide open, yet held
    source: Source = Source(file="")

    def claimed(self, case: Case) -> bool:
        """Whether the vendor says that this row is held."""
        if self.claims is None:
            return True
        return case.id not in self.claims.but and bool({case.id, case.mechanism} & {*self.claims.closes})


@dataclass(frozen=True, kw_only=True)
class Leg:
    """Where and as whom a run happened."""

    platform: str
    identity: str  # "root" or "user"
    label: str = ""


class Reason(StrEnum):
    """Why a cell is untested: a closed list."""

    CONTROL_FAILED = "control failed"
    NO_CHANNEL = "no channel"
    NOT_EXPRESSIBLE = "policy not expressible"
    OTHER_PLATFORM = "other platform"
    UNSUPPORTED = "unsupported"
    NOT_INSTALLED = "not installed"
    NO_REPORT = "no report"
    NO_WORLD = "no network world"
    NOT_STARTED = "not started"
    STOPPED_EARLY = "stopped early"
    FAULT = "fault"
    UNCONFIRMED = "unconfirmed"
    OVER_REFUSED = "over-refused"
    CONTROL_FLAPPED = "control flapped"

    @property
    def kind(self) -> Literal["host", "structural", "fault"]:
        """Who is to blame: this machine, this backend or platform, or something that broke."""
        if self in {Reason.CONTROL_FAILED, Reason.NO_WORLD}:
            return "host"
        if self in _STRUCTURAL:
            return "structural"
        return "fault"


_STRUCTURAL = {
    Reason.NO_CHANNEL,
    Reason.NOT_EXPRESSIBLE,
    Reason.OTHER_PLATFORM,
    Reason.UNSUPPORTED,
    Reason.NOT_INSTALLED,
    Reason.NO_REPORT,
}


@dataclass(frozen=True, kw_only=True)
class Held:
    """Proved closed: the control got out before and after, the twin was fine, the attempt was refused."""

    evidence: str


@dataclass(frozen=True, kw_only=True)
class Escaped:
    """The canary crossed."""

    evidence: str


@dataclass(frozen=True, kw_only=True)
class Untested:
    """Neither was proved."""

    reason: Reason
    evidence: str


Verdict = Held | Escaped | Untested


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Case × backend × leg, judged."""

    case: str
    mechanism: str
    backend: str
    leg: Leg
    verdict: Verdict
    claimed: bool
    argv: tuple[str, ...] = ()
    repeat: str = ""
    seconds: float = 0.0
    steps: tuple[str, ...] = ()
    source: Source = Source(file="")

    @property
    def word(self) -> str:
        """held, escaped or untested."""
        return type(self.verdict).__name__.lower()
