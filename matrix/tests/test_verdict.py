"""The verdict table: a test for each line, from its first to its last."""

from __future__ import annotations

import errno
import signal
from dataclasses import replace

import pytest

from matrix.evidence import (
    Absent,
    Acted,
    Died,
    NotStarted,
    Refused,
    Said,
    Sighting,
    Silent,
    TimedOut,
    TwinAnswer,
    Unsupported,
)
from matrix.model import Escaped, Held, Reason, Untested, Verdict
from matrix.tests.judging import (
    AFTER,
    ALL_SAID,
    AT,
    BEFORE,
    BLIND,
    CASE,
    EPERM,
    INSIDE,
    NETWORK,
    NOTHING,
    SAME_CALL,
    SEEN,
    SIGHTINGS,
    UNPLANTED,
    Arms,
    reason,
    verdict,
)
from matrix.verdict import FAULTS, judge
from runners.contract import Exit


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
    listed += " EFBIG E2BIG ETXTBSY ENOLCK EADDRINUSE"
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


@pytest.mark.parametrize(
    ("exit_", "errors", "late", "expected"),
    [
        (Exit(code=1), "box: refusing the link", "", Held),
        (Exit(code=1), "", "", Untested),  # no message: it may have failed at anything
        (Exit(code=0), "box: warning", "", Untested),  # content, though nothing was heard inside
        (Exit(code=126), "sh: box: not executable", "", Untested),
        (Exit(code=127), "sh: box: not found", "", Untested),
        (Exit(code=139), "Segmentation fault", "", Untested),
        (Exit(signal=11), "box: oops", "", Untested),
        (Exit(code=1), "box: still waiting", "killed at the deadline", Untested),  # killed at the deadline
        (None, "box: oops", "", Untested),
    ],
)
def test_a_launch_is_declined_by_a_code_and_a_message(
    exit_: Exit | None, errors: str, late: str, expected: type[Verdict]
) -> None:
    launch = replace(CASE, subject="launch", alone=True)
    bracket = Arms(said=NotStarted(why="exit code 1"), steps=()).bracket()
    bracket = replace(bracket, attempt=replace(bracket.attempt, exit=exit_, errors=errors, late=bool(late)))
    found = judge(launch, bracket)
    assert isinstance(found, expected)
    assert not isinstance(found, Untested) or found.reason is Reason.NOT_STARTED


def test_a_trace_that_turned_up_inside_is_a_private_copy() -> None:
    assert verdict(said=INSIDE) == Held(evidence="private copy: an inner listener has it")


def test_nothing_to_act_on_is_not_visible() -> None:
    assert verdict(said=Absent(looked_at="/proc"), steps=BEFORE) == Held(evidence="not visible: /proc")


def test_every_reason_has_a_kind_and_the_table_uses_its_own() -> None:
    assert {reason.kind for reason in Reason} == {"host", "structural", "fault"}
    assert Reason.CONTROL_FAILED.kind == "host"
    assert Reason.NOT_STARTED.kind == "fault"
    assert Reason.NO_CHANNEL.kind == "structural"
