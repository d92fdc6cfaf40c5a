"""What the tests of the verdict table share: what happened in three arms, said in a few words."""

from __future__ import annotations

import errno
import signal
from dataclasses import dataclass, replace
from typing import Any

from matrix.evidence import (
    Absent,
    Acted,
    Arrived,
    Attempted,
    Blind,
    Delivery,
    Died,
    Missed,
    Nothing,
    NotStarted,
    Observation,
    Refused,
    Said,
    Seen,
    Sighting,
    Silent,
    TimedOut,
    TwinAnswer,
    Unplanted,
    Unsupported,
)
from matrix.model import Case, Reason, Untested, Verdict
from matrix.verdict import Bracket, judge
from runners.contract import Channel

CASE = Case(
    id="row",
    title="The row is open",
    mechanism="loopback",
    platforms=("linux",),
    attack="attack",
    witness="witness",
    decisive="connect",
)
NETWORK = replace(CASE, time_refuses=True)
SAME_CALL = replace(CASE, twin="same-call")
PROXIED = replace(SAME_CALL, channels=frozenset({Channel.PROXY}), decisive="forbidden")
ALLOWED = replace(PROXIED, decisive="listed", allowed=True)
FORBIDDEN, LISTED = ("proxy", "listed", "proxy", "forbidden"), ("proxy", "forbidden", "proxy", "listed")
ARRIVED = Arrived(where="arrived at 11.22.33.44")
DELIVERIES: tuple[Delivery, ...] = (ARRIVED, Missed(what="it did not arrive"))
BEFORE, AT, AFTER = ("socket",), ("socket", "connect"), ("socket", "connect", "send")
EPERM = Refused(errno=errno.EPERM)
SEEN, NOTHING = Seen(how="the canary arrived"), Nothing()
BLIND, UNPLANTED = Blind(why="the listener is gone"), Unplanted(why="no such place")
INSIDE = Acted(inside="an inner listener has it")


@dataclass(frozen=True, kw_only=True)
class Arms:
    """What happened, said in a few words."""

    said: Said = EPERM
    steps: tuple[str, ...] = AT
    seen: Sighting = NOTHING
    before: Sighting = SEEN
    after: Sighting = SEEN
    twin: TwinAnswer = TwinAnswer.ANSWERED
    control_twin: TwinAnswer = TwinAnswer.ANSWERED
    seconds: float = 5.0
    control_seconds: float = 0.01
    closing_seconds: float = 0.01
    switches: str = ""
    delivery: Delivery = ARRIVED

    def bracket(self) -> Bracket:
        def control(sighting: Sighting, seconds: float) -> Observation:
            attempted = Attempted(said=Acted(), steps=AFTER, alive=True, seconds=seconds)
            return Observation(attempted=attempted, sighting=sighting, twin=self.control_twin)

        alive = self.twin is TwinAnswer.ANSWERED
        attempted = Attempted(said=self.said, steps=self.steps, alive=alive, seconds=self.seconds)
        return Bracket(
            before=control(self.before, self.control_seconds),
            attempt=Observation(
                attempted=attempted, sighting=self.seen, twin=self.twin, delivery=self.delivery
            ),
            after=control(self.after, self.closing_seconds),
            switches=self.switches,
        )


def verdict(case: Case = CASE, **facts: Any) -> Verdict:
    return judge(case, Arms(**facts).bracket())


def reason(case: Case = CASE, **facts: Any) -> Reason:
    found = verdict(case, **facts)
    assert isinstance(found, Untested), found
    return found.reason


ALL_SAID: tuple[Said, ...] = (
    EPERM,
    Refused(errno=errno.EINVAL),
    Refused(errno=0),
    INSIDE,
    Acted(trace="bytes"),
    Absent(looked_at="/proc"),
    Unsupported(why="no such call"),
    Died(signal=signal.SIGSYS),
    Died(signal=signal.SIGSEGV),
    TimedOut(),
    Silent(why="exit code 127"),
    NotStarted(why="nothing spoke"),
)
SIGHTINGS: tuple[Sighting, ...] = (SEEN, NOTHING, BLIND, UNPLANTED)
