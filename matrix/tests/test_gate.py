"""The gate: every exit code from the smallest report that deserves it, and no pass for want of a result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.errors import Code
from matrix.gate import ORDER, Decision
from matrix.model import Cell, Reason
from matrix.record import assemble
from matrix.tests.gating import code, entry, gate
from matrix.tests.samples import ESCAPED, HELD, cell, header, report, untested

MISSING = {"columns": {"box": {"missing": "no program box", "version": ""}}}
NAMED = {"columns": {"box": {"named": True}}}


def test_claims_that_hold_pass() -> None:
    assert gate(report(cell("a"), cell("b"))) == Decision(code=Code.CLEAN, findings=())


def test_a_claimed_escape_fails_and_names_its_cell() -> None:
    decision = gate(report(cell("a"), cell("b", ESCAPED)))
    assert decision.code is Code.ESCAPED
    assert decision.findings[0].text.startswith("box: loopback: claimed held, and escaped: b (the listener")


def test_an_unclaimed_escape_passes() -> None:
    assert code(report(cell("a"), cell("b", ESCAPED, claimed=False))) is Code.CLEAN


def test_a_required_cell_that_escaped_fails_though_nobody_claims_it() -> None:
    found = report(cell("a"), cell("b", ESCAPED, claimed=False))
    assert code(found, entry("held", case="b")) is Code.ESCAPED


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason.kind == "fault"])
def test_a_claimed_cell_untested_for_a_fault_fails(reason: Reason) -> None:
    assert code(report(cell("a"), cell("b", untested(reason)))) is Code.NOT_TESTED
    assert code(report(cell("a"), cell("b", untested(reason), claimed=False))) is Code.CLEAN


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason.kind != "fault"])
def test_other_untested_cells_pass_beside_a_held_one_of_their_mechanism(reason: Reason) -> None:
    assert code(report(cell("a"), cell("b", untested(reason)))) is Code.CLEAN


SAID = {Reason.OTHER_PLATFORM, Reason.NOT_INSTALLED}


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason not in SAID])
def test_a_claimed_mechanism_without_a_held_cell_fails(reason: Reason) -> None:
    found = report(cell("a"), cell("b", untested(reason), mechanism="terminal"))
    assert code(found) is Code.NOT_TESTED


def test_a_mechanism_that_this_platform_lacks_is_not_asked_for() -> None:
    found = report(cell("a"), cell("b", untested(Reason.OTHER_PLATFORM), mechanism="appleevents"))
    assert code(found) is Code.CLEAN
    assert code(found, strict=True) is Code.CLEAN
    assert code(found, entry("held", case="b")) is Code.NOT_TESTED


# No pass for want of a result: what a column gives that runs nothing, exits 127, or prints an errno.

DEAD = (cell("a", untested(), claimed=False), cell("b", untested(Reason.FAULT), claimed=False))


def test_a_dead_column_alone_is_never_clean() -> None:
    assert code(report(*DEAD)) is Code.NOT_TESTED
    assert code(report(*(replace(each, claimed=True) for each in DEAD))) is Code.NOT_TESTED


def test_a_dead_column_hides_behind_no_other_column() -> None:
    assert code(report(*DEAD, cell("a", backend="other"), cell("b", backend="other"))) is Code.NOT_TESTED


def test_one_line_says_all_of_a_dead_column() -> None:
    decision = gate(report(*(cell(f"c{number}", untested()) for number in range(50))))
    texts = [finding.text for finding in decision.findings]
    assert texts == [
        "box: none of its 50 cells was tested: not started",
        "no cell is held and none has escaped",
    ]


def test_a_column_whose_cells_were_lost_is_not_called_unplanned() -> None:
    """What an interrupted run leaves."""
    planned = header(cell("a"), cell("b"), cell("a", backend="other"))
    found = assemble(planned, [cell("a", backend="other")], (), None, "")
    texts = [finding.text for finding in gate(found).findings]
    assert "box: none of its 2 cells was tested: none is in the report" in texts


def test_nothing_at_all_is_nothing_run() -> None:
    assert code(report()) is Code.NOTHING_RUN


def test_a_host_where_no_control_works_is_nothing_run() -> None:
    assert code(report(cell("a", untested(Reason.CONTROL_FAILED), claimed=False))) is Code.NOTHING_RUN


def test_a_missing_backend_that_was_named_fails() -> None:
    gone = cell("a", untested(Reason.NOT_INSTALLED))
    other = cell("a", backend="other")
    named = {"columns": {"box": {"named": True, "missing": "no program box"}}}
    decision = gate(report(gone, other, **named))
    assert decision.code is Code.NOT_TESTED
    assert decision.findings[0].text == "box: not installed: no program box"


@pytest.mark.parametrize("columns", [MISSING, {}])
def test_a_missing_backend_that_nobody_named_is_only_said(columns: dict[str, Any]) -> None:
    gone = (
        cell("a", untested(Reason.NOT_INSTALLED, "no program box")),
        cell("b", untested(Reason.NO_CHANNEL)),
    )
    decision = gate(report(*gone, cell("a", backend="other"), **columns))
    assert decision.code is Code.CLEAN
    assert [finding.text for finding in decision.findings] == ["box: not installed: no program box"]


def test_a_header_that_calls_a_tested_column_missing_excuses_nothing() -> None:
    found = report(cell("a"), cell("b", untested(Reason.NO_CHANNEL), mechanism="terminal"), **MISSING)
    assert code(found) is Code.NOT_TESTED


@pytest.mark.parametrize("needed", ["", "named", "strict"])
def test_a_launcher_that_cannot_run_for_one_mechanism_is_only_said_unless_needed(needed: str) -> None:
    """firejail is set-uid: it starts for an ordinary account, and not in that account's network world."""
    gone = cell("b", untested(Reason.NOT_INSTALLED, "set-uid gains nothing here"), mechanism="raw-socket")
    found = report(cell("a"), gone, **(NAMED if needed == "named" else {}))
    decision = gate(found, strict=needed == "strict")
    assert decision.code is (Code.NOT_TESTED if needed else Code.CLEAN)
    assert decision.findings[-1].text.startswith("box: raw-socket: claimed, and ")


def test_one_other_reason_among_them_is_no_missing_launcher() -> None:
    gone = [cell(case, untested(Reason.NOT_INSTALLED), mechanism="raw-socket") for case in ("b", "c")]
    broke = cell("d", untested(Reason.NO_WORLD), mechanism="raw-socket")
    assert code(report(cell("a"), *gone)) is Code.CLEAN
    assert code(report(cell("a"), *gone, broke)) is Code.NOT_TESTED


def test_a_missing_backend_that_is_required_fails() -> None:
    found = report(cell("a", untested(Reason.NOT_INSTALLED)), cell("a", backend="other"), **MISSING)
    assert code(found, entry("held", backend="box")) is Code.NOT_TESTED
    excused = entry("held", backend="box", accept=frozenset({Reason.NOT_INSTALLED}))
    assert code(found, excused) is Code.CLEAN


@pytest.mark.parametrize("reason", [Reason.NO_CHANNEL, Reason.CONTROL_FAILED])
def test_a_named_backend_of_which_nothing_was_tested_fails(reason: Reason) -> None:
    found = report(cell("a", untested(reason), claimed=False), cell("a", backend="other"), **NAMED)
    assert code(found) is Code.NOT_TESTED


def test_a_named_backend_without_any_row_fails() -> None:
    assert code(report(cell("a", backend="other"), **NAMED)) is Code.NOT_TESTED


def test_strict_wants_every_cell_of_every_named_backend() -> None:
    cells = (cell("a"), cell("b", untested(Reason.NO_CHANNEL)))
    other = (cell("a", backend="other"), cell("b", untested(Reason.NO_CHANNEL), backend="other"))
    assert code(report(*cells, cell("a", backend="other"), **NAMED), strict=True) is Code.NOT_TESTED
    assert code(report(cell("a"), *other, **NAMED), strict=True) is Code.CLEAN
    assert code(report(*cells), strict=True) is Code.NOT_TESTED
    assert code(report(*cells), entry("untested", case="b"), strict=True) is Code.CLEAN


def test_strict_without_names_is_about_all_and_not_about_none() -> None:
    gone = report(cell("a", untested(Reason.NOT_INSTALLED)), cell("a", backend="other"), **MISSING)
    assert code(gone, strict=True) is Code.NOT_TESTED


def test_the_first_code_that_applies_wins() -> None:
    every = replace(
        report(cell("a", ESCAPED), cell("b", untested(), mechanism="proc")), faults=("no footer",)
    )
    stale = entry("held", case="none")
    decision = gate(every, stale)
    codes = list(dict.fromkeys(finding.code for finding in decision.findings))
    assert codes == [Code.INCOMPLETE, Code.ESCAPED, Code.STALE, Code.NOT_TESTED]
    assert decision.code is Code.INCOMPLETE
    assert code(replace(every, faults=()), stale) is Code.ESCAPED


def test_an_incomplete_report_never_passes() -> None:
    assert code(replace(report(cell("a")), faults=("no footer",))) is Code.INCOMPLETE


def test_the_decision_fits_ten_lines_and_no_evidence_steers_a_terminal() -> None:
    loud = replace(ESCAPED, evidence="\x1b[2J\n\u202e" + "x" * 10_000)
    cells = [cell(f"c{number}", loud, mechanism=f"m{number}") for number in range(30)]
    lines = gate(report(*cells)).lines()
    assert len(lines) == 10
    assert lines[0] == "gate: 10: something claimed or expected held has escaped"
    assert lines[-1] == "and 22 more"
    assert all(line.isprintable() and len(line) < 700 for line in lines)


VERDICTS = st.sampled_from([HELD, ESCAPED, *(untested(reason) for reason in Reason)])
CELLS = st.lists(st.tuples(VERDICTS, st.booleans(), st.sampled_from("pq"), st.sampled_from("xy")), max_size=8)


@given(drawn=CELLS, named=st.booleans(), strict=st.booleans())
def test_clean_means_that_something_was_proved_and_nothing_claimed_failed(
    *, drawn: list[Any], named: bool, strict: bool
) -> None:
    cells: list[Cell] = [
        cell(f"c{number}", verdict, claimed=claimed, mechanism=mechanism, backend=backend)
        for number, (verdict, claimed, mechanism, backend) in enumerate(drawn)
    ]
    columns = {each.backend: {"named": named} for each in cells}
    decision = gate(report(*cells, columns=columns), strict=strict)
    assert decision.code in ORDER
    if decision.code is Code.CLEAN:
        assert any(each.word != "untested" for each in cells)
        assert not [each for each in cells if each.claimed and each.word == "escaped"]
        for each in cells:
            mine = [other for other in cells if other.backend == each.backend]
            missing = any("not installed" in str(getattr(other.verdict, "reason", "")) for other in mine)
            proved = any(other.word != "untested" for other in mine)
            assert (
                proved
                or (missing and not named)
                or not any(other.claimed for other in mine)
                or all(other.verdict == untested(Reason.OTHER_PLATFORM) for other in mine if other.claimed)
            )
