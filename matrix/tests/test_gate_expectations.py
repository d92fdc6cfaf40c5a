"""The gate with expectations: waivers, postures and requirements, and what makes an entry stale."""

from __future__ import annotations

from datetime import timedelta

import pytest

from matrix.errors import Code
from matrix.gate import LONGEST, decide
from matrix.model import Reason
from matrix.tests.gating import TODAY, code, entry, gate
from matrix.tests.samples import ESCAPED, cell, report, untested

ESCAPE = report(cell("a"), cell("b", ESCAPED))


def test_a_waiver_forgives_until_its_last_day() -> None:
    waiver = entry("escaped", case="b", expires=TODAY)
    assert code(ESCAPE, waiver) is Code.CLEAN
    late = decide(ESCAPE, [waiver], TODAY + timedelta(days=1))
    assert late.code is Code.ESCAPED
    assert any("expired on 2026-11-30" in finding.text for finding in late.findings)


def test_a_waiver_overrides_a_requirement() -> None:
    waiver = entry("escaped", case="b", expires=TODAY)
    assert code(ESCAPE, entry("held", case="*"), waiver) is Code.CLEAN


def test_a_waiver_lasts_at_most_ninety_days() -> None:
    last = TODAY + LONGEST
    assert code(ESCAPE, entry("escaped", case="b", expires=last)) is Code.CLEAN
    assert code(ESCAPE, entry("escaped", case="b", expires=last + timedelta(days=1))) is Code.ESCAPED


def test_a_waiver_without_a_last_day_forgives_nothing() -> None:
    decision = gate(ESCAPE, entry("escaped", case="b"))
    assert decision.code is Code.ESCAPED
    assert any("must say when it expires" in finding.text for finding in decision.findings)


def test_a_posture_needs_no_last_day() -> None:
    found = report(cell("a"), cell("b", ESCAPED, claimed=False))
    assert code(found, entry("escaped", case="b")) is Code.CLEAN


@pytest.mark.parametrize("expect", ["escaped", "untested"])
def test_an_entry_that_is_no_longer_true_is_stale(expect: str) -> None:
    assert code(report(cell("a")), entry(expect, case="a", expires=TODAY)) is Code.STALE


def test_an_escape_where_untested_was_expected_is_stale_or_worse() -> None:
    excuse = entry("untested", case="b")
    assert code(report(cell("a"), cell("b", ESCAPED, claimed=False)), excuse) is Code.STALE
    assert code(ESCAPE, excuse) is Code.ESCAPED


def test_an_expected_untested_cell_is_forgiven_but_nothing_run_is_not() -> None:
    excuse = entry("untested", backend="box")
    assert code(report(cell("a", untested()), cell("a", backend="other")), excuse) is Code.CLEAN
    assert code(report(cell("a", untested())), excuse) is Code.NOTHING_RUN


def test_a_posture_of_a_cell_that_broke_is_not_met() -> None:
    found = report(cell("a"), cell("b", untested(Reason.FAULT), claimed=False))
    assert code(found, entry("escaped", case="b")) is Code.NOT_TESTED


@pytest.mark.parametrize("expect", ["held", "escaped", "untested"])
def test_an_entry_about_nothing_is_stale(expect: str) -> None:
    decision = gate(report(cell("a")), entry(expect, case="tpyo-*"), entry("held", case="a"))
    assert decision.code is Code.STALE
    assert "about no cell (case=tpyo-*)" in decision.findings[0].text


def test_entries_for_other_legs_are_left_alone_unless_none_is_for_this_one() -> None:
    away, here = entry("escaped", identity="root"), entry("held", case="a")
    assert code(report(cell("a")), away, here) is Code.CLEAN
    assert code(report(cell("a")), away) is Code.STALE


def test_an_expired_requirement_is_stale() -> None:
    assert code(report(cell("a")), entry("held", case="a", expires=TODAY - timedelta(days=1))) is Code.STALE


def test_entries_that_contradict_each_other_are_stale() -> None:
    found = report(cell("a"), cell("b", untested(Reason.NO_CHANNEL)))
    decision = gate(found, entry("untested", case="b"), entry("held", backend="box", id="all"))
    assert decision.code is Code.STALE
    assert "all expects held of the same cell" in decision.findings[0].text


def test_a_requirement_accepts_only_what_it_names() -> None:
    found = report(cell("a"), cell("b", untested(Reason.NO_CHANNEL), claimed=False))
    assert code(found, entry("held", case="b")) is Code.NOT_TESTED
    assert code(found, entry("held", case="b", accept=frozenset({Reason.NO_CHANNEL}))) is Code.CLEAN
    assert code(found, entry("held", case="b", accept=frozenset({Reason.UNSUPPORTED}))) is Code.NOT_TESTED
