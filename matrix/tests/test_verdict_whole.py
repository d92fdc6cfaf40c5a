"""All of the verdict table against a second statement of what is held."""

from __future__ import annotations

import errno
import itertools
import signal
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.evidence import (
    Absent,
    Acted,
    Arrived,
    Delivery,
    Died,
    Nothing,
    NotStarted,
    Refused,
    Seen,
    Silent,
    TimedOut,
    TwinAnswer,
    Unsupported,
)
from matrix.model import Case, Escaped, Held, Reason, Twin, Untested, Verdict
from matrix.tests import judging
from matrix.tests.judging import (
    AFTER,
    ALL_SAID,
    ALLOWED,
    AT,
    BEFORE,
    CASE,
    DELIVERIES,
    EPERM,
    FORBIDDEN,
    LISTED,
    PROXIED,
    SIGHTINGS,
    Arms,
)
from matrix.verdict import FAULTS, describe, judge


def proves(case: Case, arms: Arms) -> bool:
    """Whether the attempt's own word is one of the three ways to be held, said a second time."""
    decided = case.decisive in arms.steps
    match arms.said:
        case Refused(errno=code):
            return decided and code != 0 and code not in FAULTS
        case Died(signal=number):
            return decided and number == signal.SIGSYS
        case TimedOut():
            controls = (arms.control_seconds, arms.closing_seconds)
            quick = all(seconds * 10 < arms.seconds for seconds in controls) and any(controls)
            return decided and case.time_refuses and quick
        case Acted(inside=inside):
            return decided and bool(inside)
        case Absent():
            return True
        case Silent() | NotStarted() | Unsupported():
            return False


def goes_through(case: Case, arms: Arms) -> bool:
    """The same for a row about a proxy, whose last step decides; what had to arrive has arrived."""
    if not isinstance(arms.delivery, Arrived):
        return False
    if case.allowed:
        return isinstance(arms.said, Acted)
    at_last = arms.steps[-1:] == (case.decisive,)
    return isinstance(arms.said, Refused) and at_last and arms.said.errno not in {0, *FAULTS}


def must_be(case: Case, arms: Arms) -> type[Verdict]:
    if isinstance(arms.seen, Seen):
        return Escaped
    held = (
        isinstance(arms.before, Seen)
        and isinstance(arms.seen, Nothing)
        and isinstance(arms.after, Seen)
        and arms.twin is TwinAnswer.ANSWERED
        and arms.control_twin is TwinAnswer.ANSWERED
        and (goes_through if case.proxied else proves)(case, arms)
    )
    return Held if held else Untested


def test_every_combination_is_held_only_when_all_is_proved() -> None:
    twins: tuple[Twin, ...] = ("alive", "same-call")
    cases = [replace(CASE, twin=twin, time_refuses=late) for twin in twins for late in (True, False)]
    combinations = itertools.product(
        cases,
        ALL_SAID,
        (BEFORE, AT, AFTER, ()),
        SIGHTINGS,
        SIGHTINGS,
        SIGHTINGS,
        TwinAnswer,
        (TwinAnswer.ANSWERED, TwinAnswer.SILENT),
    )
    found = dict.fromkeys((Held, Escaped, Untested), 0)
    for case, said, steps, before, seen, after, twin, control_twin in combinations:
        arms = Arms(
            said=said,
            steps=steps,
            before=before,
            seen=seen,
            after=after,
            twin=twin,
            control_twin=control_twin,
        )
        kind = type(judge(case, arms.bracket()))
        assert kind is must_be(case, arms), (case, arms)
        found[kind] += 1
    assert all(found.values()), found


def test_rows_about_a_proxy_are_held_only_when_all_is_proved() -> None:
    combinations = itertools.product(
        (PROXIED, ALLOWED, replace(PROXIED, time_refuses=True)),
        ALL_SAID,
        (FORBIDDEN, LISTED, ("proxy",), ()),
        SIGHTINGS,
        SIGHTINGS,
        SIGHTINGS,
        TwinAnswer,
        DELIVERIES,
    )
    found = dict.fromkeys((Held, Escaped, Untested), 0)
    for case, said, steps, before, seen, after, twin, delivery in combinations:
        arms = Arms(
            said=said, steps=steps, before=before, seen=seen, after=after, twin=twin, delivery=delivery
        )
        kind = type(judge(case, arms.bracket()))
        assert kind is must_be(case, arms), (case, arms)
        found[kind] += 1
    assert all(found.values()), found


@pytest.mark.parametrize(
    ("case", "facts", "reason"),
    [
        (ALLOWED, {"said": EPERM, "steps": LISTED}, Reason.OVER_REFUSED),
        (ALLOWED, {"said": EPERM, "steps": ("proxy",)}, Reason.STOPPED_EARLY),
        (ALLOWED, {"said": Acted(), "steps": LISTED, "delivery": DELIVERIES[1]}, Reason.UNCONFIRMED),
        (PROXIED, {"said": Acted(), "steps": FORBIDDEN}, Reason.UNCONFIRMED),
        (PROXIED, {"said": EPERM, "steps": FORBIDDEN, "delivery": DELIVERIES[1]}, Reason.UNCONFIRMED),
        (PROXIED, {"said": EPERM, "steps": (*FORBIDDEN, "proxy", "listed")}, Reason.STOPPED_EARLY),
        (PROXIED, {"said": EPERM, "steps": FORBIDDEN, "twin": TwinAnswer.REFUSED}, Reason.OVER_REFUSED),
        (PROXIED, {"said": EPERM, "steps": FORBIDDEN, "twin": TwinAnswer.SILENT}, Reason.FAULT),
        (PROXIED, {"said": Absent(looked_at="x"), "steps": FORBIDDEN}, Reason.UNCONFIRMED),
    ],
)
def test_why_a_row_about_a_proxy_is_untested(case: Case, facts: dict[str, Any], reason: Reason) -> None:
    assert judging.reason(case, **facts) is reason


def test_what_the_proxy_said_is_evidence() -> None:
    said = Refused(errno=errno.EACCES, text="[Errno 13] HTTP/1.1 403 private\r\nmore")
    found = judge(PROXIED, Arms(said=said, steps=FORBIDDEN).bracket())
    assert found == Held(evidence="refused: forbidden: EACCES (HTTP/1.1 403 private)")


SAID = st.one_of(
    st.builds(Refused, errno=st.integers(-1, 140)),
    st.builds(Acted, trace=st.text(max_size=3), inside=st.text(max_size=3)),
    st.builds(Absent, looked_at=st.text(max_size=3)),
    st.builds(Died, signal=st.integers(1, 64)),
    st.builds(TimedOut),
    st.builds(Silent, why=st.text(max_size=3)),
    st.builds(NotStarted, why=st.text(max_size=3)),
    st.builds(Unsupported, why=st.text(max_size=3)),
)
ARMS = st.builds(
    Arms,
    said=SAID,
    steps=st.lists(st.sampled_from(["socket", "connect", "send"]), max_size=4).map(tuple),
    seen=st.sampled_from(SIGHTINGS),
    before=st.sampled_from(SIGHTINGS),
    after=st.sampled_from(SIGHTINGS),
    twin=st.sampled_from(TwinAnswer),
    control_twin=st.sampled_from(TwinAnswer),
    seconds=st.floats(0, 10),
    control_seconds=st.floats(0, 1),
    closing_seconds=st.floats(0, 1),
    switches=st.sampled_from(["", "kernel.yama.ptrace_scope=3"]),
)
PROXY_ROWS = st.sampled_from([PROXIED, ALLOWED])
ROWS = st.builds(
    lambda twin, late: replace(CASE, twin=twin, time_refuses=late),
    st.sampled_from(["alive", "same-call"]),
    st.booleans(),
)


@given(ROWS, ARMS)
def test_whatever_happens_it_is_held_only_when_all_is_proved(case: Case, arms: Arms) -> None:
    found = judge(case, arms.bracket())
    assert type(found) is must_be(case, arms)
    assert found.evidence or not isinstance(found, Escaped)


@given(PROXY_ROWS, ARMS, st.sampled_from(DELIVERIES), st.sampled_from([FORBIDDEN, LISTED]))
def test_whatever_a_proxy_does_it_is_held_only_when_all_is_proved(
    case: Case, arms: Arms, delivery: Delivery, steps: tuple[str, ...]
) -> None:
    arms = replace(arms, delivery=delivery, steps=steps)
    assert type(judge(case, arms.bracket())) is must_be(case, arms)


@given(ARMS)
def test_every_arm_can_be_described(arms: Arms) -> None:
    assert isinstance(describe(arms.bracket().attempt), str)
