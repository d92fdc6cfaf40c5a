"""The verdict table: a test for each line, then all of it against a second statement of what is held."""

from __future__ import annotations

import errno
import itertools
import signal
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.evidence import (
    Absent,
    Acted,
    Attempted,
    Blind,
    Died,
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
from matrix.model import Case, Escaped, Held, Reason, Twin, Untested, Verdict
from matrix.verdict import FAULTS, Bracket, describe, judge

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

    def bracket(self) -> Bracket:
        def control(sighting: Sighting, seconds: float) -> Observation:
            attempted = Attempted(said=Acted(), steps=AFTER, alive=True, seconds=seconds)
            return Observation(attempted=attempted, sighting=sighting, twin=self.control_twin)

        alive = self.twin is TwinAnswer.ANSWERED
        attempted = Attempted(said=self.said, steps=self.steps, alive=alive, seconds=self.seconds)
        return Bracket(
            before=control(self.before, self.control_seconds),
            attempt=Observation(attempted=attempted, sighting=self.seen, twin=self.twin),
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


# The table, from its first line to its last.


@pytest.mark.parametrize("said", ALL_SAID, ids=repr)
@pytest.mark.parametrize("control", SIGHTINGS, ids=repr)
@pytest.mark.parametrize("twin", list(TwinAnswer))
def test_a_canary_that_crossed_is_escaped_whatever_else(
    said: Said, control: Sighting, twin: TwinAnswer
) -> None:
    found = verdict(said=said, steps=(), seen=SEEN, before=control, after=control, twin=twin)
    assert found == Escaped(evidence="the canary arrived")


@pytest.mark.parametrize("control", [NOTHING, BLIND, UNPLANTED], ids=repr)
@pytest.mark.parametrize("said", ALL_SAID, ids=repr)
def test_without_a_control_it_is_untested(said: Said, control: Sighting) -> None:
    assert reason(said=said, before=control) is Reason.CONTROL_FAILED


def test_a_failed_control_names_the_switch_that_explains_it() -> None:
    found = verdict(before=NOTHING, switches="dev.tty.legacy_tiocsti=0")
    assert found.evidence.endswith("dev.tty.legacy_tiocsti=0")


def test_what_did_not_start_is_untested() -> None:
    assert reason(said=NotStarted(why="exit code 127"), steps=()) is Reason.NOT_STARTED


def test_a_refusal_before_the_decisive_step_is_untested() -> None:
    assert reason(said=EPERM, steps=BEFORE) is Reason.STOPPED_EARLY
    assert reason(said=EPERM, steps=()) is Reason.STOPPED_EARLY


@pytest.mark.parametrize("code", sorted(FAULTS), ids=errno.errorcode.get)
def test_a_fault_is_no_refusal(code: int) -> None:
    assert reason(said=Refused(errno=code)) is Reason.FAULT


def test_the_faults_are_the_list_of_the_design() -> None:
    listed = "EFAULT EINVAL EMFILE ENFILE ENOMEM ENOBUFS ENOSPC EDQUOT EINTR EAGAIN ENAMETOOLONG ENOEXEC"
    assert {errno.errorcode[code] for code in FAULTS} == set(listed.split())


@pytest.mark.parametrize(
    "said",
    [
        Silent(why="the attempt ended without a word"),
        TimedOut(),
        Died(signal=signal.SIGKILL),
        Died(signal=signal.SIGSEGV),
        Refused(errno=0),
    ],
    ids=repr,
)
def test_silence_time_and_death_are_faults(said: Said) -> None:
    assert reason(said=said) is Reason.FAULT


def test_an_attack_that_cannot_be_tried_is_unsupported() -> None:
    assert reason(said=Unsupported(why="unknown attack"), steps=()) is Reason.UNSUPPORTED


def test_an_act_whose_trace_is_nowhere_is_unconfirmed() -> None:
    assert reason(said=Acted(trace="bytes")) is Reason.UNCONFIRMED
    assert reason(said=INSIDE, steps=BEFORE) is Reason.UNCONFIRMED


def test_a_twin_that_was_refused_is_over_refusal() -> None:
    assert reason(SAME_CALL, twin=TwinAnswer.REFUSED) is Reason.OVER_REFUSED
    assert reason(SAME_CALL, said=INSIDE, twin=TwinAnswer.REFUSED) is Reason.OVER_REFUSED


@pytest.mark.parametrize("twin", [TwinAnswer.SILENT, TwinAnswer.REFUSED])
def test_an_alive_twin_that_did_not_answer_is_a_fault(twin: TwinAnswer) -> None:
    assert reason(twin=twin) is Reason.FAULT


def test_a_same_call_twin_that_said_nothing_is_a_fault() -> None:
    assert reason(SAME_CALL, twin=TwinAnswer.SILENT) is Reason.FAULT


@pytest.mark.parametrize("closing", [NOTHING, BLIND, UNPLANTED], ids=repr)
@pytest.mark.parametrize("said", [EPERM, INSIDE, Absent(looked_at="/proc")], ids=repr)
def test_a_closing_control_that_is_not_seen_has_flapped(said: Said, closing: Sighting) -> None:
    assert reason(said=said, after=closing) is Reason.CONTROL_FLAPPED


def test_a_witness_that_went_blind_during_the_attempt_proves_nothing() -> None:
    assert reason(seen=BLIND) is Reason.CONTROL_FLAPPED
    assert reason(seen=UNPLANTED) is Reason.FAULT


def test_a_twin_that_fails_unconfined_proves_nothing() -> None:
    assert reason(control_twin=TwinAnswer.REFUSED) is Reason.FAULT


@pytest.mark.parametrize("code", [errno.EPERM, errno.EACCES, errno.ENOSYS, errno.ECONNREFUSED, errno.ENOENT])
@pytest.mark.parametrize("steps", [AT, AFTER])
def test_a_refusal_from_the_decisive_step_on_is_held(code: int, steps: tuple[str, ...]) -> None:
    found = verdict(said=Refused(errno=code), steps=steps)
    assert found == Held(evidence=f"refused: {steps[-1]}: {errno.errorcode[code]}")


def test_a_death_by_sigsys_is_a_refusal_only_after_the_decisive_step() -> None:
    assert verdict(said=Died(signal=signal.SIGSYS)) == Held(evidence="refused: connect: SIGSYS")
    assert reason(said=Died(signal=signal.SIGSYS), steps=BEFORE) is Reason.FAULT


def test_a_time_out_is_a_refusal_only_for_network_rows_with_quick_controls() -> None:
    assert isinstance(verdict(NETWORK, said=TimedOut()), Held)
    assert reason(CASE, said=TimedOut()) is Reason.FAULT
    assert reason(NETWORK, said=TimedOut(), steps=BEFORE) is Reason.FAULT
    assert reason(NETWORK, said=TimedOut(), control_seconds=0.5) is Reason.FAULT
    assert reason(NETWORK, said=TimedOut(), closing_seconds=0.5) is Reason.FAULT
    assert isinstance(verdict(NETWORK, said=TimedOut(), closing_seconds=0.49), Held)
    assert reason(NETWORK, said=TimedOut(), control_seconds=0, closing_seconds=0) is Reason.FAULT


def test_a_trace_that_turned_up_inside_is_a_private_copy() -> None:
    assert verdict(said=INSIDE) == Held(evidence="private copy: an inner listener has it")


def test_nothing_to_act_on_is_not_visible() -> None:
    assert verdict(said=Absent(looked_at="/proc"), steps=BEFORE) == Held(evidence="not visible: /proc")


# The whole table.


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


def must_be(case: Case, arms: Arms) -> type[Verdict]:
    if isinstance(arms.seen, Seen):
        return Escaped
    held = (
        isinstance(arms.before, Seen)
        and isinstance(arms.seen, Nothing)
        and isinstance(arms.after, Seen)
        and arms.twin is TwinAnswer.ANSWERED
        and arms.control_twin is TwinAnswer.ANSWERED
        and proves(case, arms)
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


@given(ARMS)
def test_every_arm_can_be_described(arms: Arms) -> None:
    assert isinstance(describe(arms.bracket().attempt), str)


def test_every_reason_has_a_kind_and_the_table_uses_its_own() -> None:
    assert {reason.kind for reason in Reason} == {"host", "structural", "fault"}
    assert Reason.CONTROL_FAILED.kind == "host"
    assert Reason.NOT_STARTED.kind == "fault"
    assert Reason.NO_CHANNEL.kind == "structural"
