"""One row in one arm: what was planted for it, what was said, what was seen, how its twin fared."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from matrix import transcript
from matrix.evidence import (
    Absent,
    Acted,
    Attempted,
    Nothing,
    NotStarted,
    Refused,
    Sighting,
    Silent,
    TwinAnswer,
    Unplanted,
)
from matrix.model import Case, Untested
from matrix.witnesses.contract import Ground, Planted, Witness

TURN = 0.1  # seconds between two looks of everybody
TWIN = "#twin"  # behind a row's id: its same-call twin


@dataclass
class Row:
    """What an arm knows of one of its rows."""

    case: Case
    witness: Witness
    ground: Ground
    planted: Planted = field(default_factory=Planted)
    sighting: Sighting = field(default_factory=Nothing)
    attempted: Attempted = field(default_factory=lambda: Attempted(said=Silent(why="not launched")))
    twin: Attempted | None = None
    skipped: Untested | None = None

    @property
    def launched(self) -> bool:
        """Whether an attempt was made at all."""
        return self.skipped is None and not isinstance(self.sighting, Unplanted)

    @property
    def share(self) -> float:
        """Seconds that it may take among many, beyond what the slowest one of them may."""
        if self.case.attack == "proxy_client":
            return 6.0  # two real programs are started, on a machine that may be busy
        return 1.0 if self.case.proxied else 0.25

    def blindness(self) -> str:
        """Why the witness could not have seen; one that breaks over the question is blind."""
        try:
            return self.witness.check()
        except OSError as error:
            return str(error)

    def twin_answer(self, *, benign: bool) -> TwinAnswer:
        """What became of the allowed act; `benign`: whether the twin of a row about a launch started."""
        if self.case.subject == "launch" and isinstance(self.attempted.said, NotStarted):
            return TwinAnswer.ANSWERED if benign else TwinAnswer.SILENT
        if self.case.twin == "alive" or self.twin is None:
            return TwinAnswer.ANSWERED if self.attempted.alive else TwinAnswer.SILENT
        match self.twin.said:
            case Acted() if self.witness.twin(self.twin):
                return TwinAnswer.ANSWERED
            case Acted() | Refused() | Absent():  # absent: what the policy grants did not arrive
                return TwinAnswer.REFUSED
            case NotStarted() | _:
                return TwinAnswer.SILENT


class Vigilant:
    """The rows whose witnesses look while their launch runs.

    Most look at every turn. Those that only meet their own attempt are woken by what it says; in case
    that is lost or late, all of them ten times a second.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        found = [*rows]
        self.always = [row for row in found if not row.witness.meets]
        self.meeting = {row.case.id: row for row in found if row.witness.meets}
        self.last: list[Row] = []
        self.asked_at = 0.0

    def awake(self, said: bytes) -> Iterable[Row]:
        """Who looks now, after this piece of output."""
        if not self.meeting:
            return self.always
        ids = {name.removesuffix(TWIN) for name in transcript.named(said)}
        if ids & self.meeting.keys():
            self.last = [self.meeting[each] for each in ids if each in self.meeting]
        if (now := time.monotonic()) > self.asked_at + TURN:
            self.asked_at = now
            return [*self.always, *self.meeting.values()]
        return [*self.always, *self.last]
