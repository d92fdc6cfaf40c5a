"""Gaps that no single file shows; the others are in the corpus of bad rows."""

from __future__ import annotations

from dataclasses import replace

from matrix.coverage import Shipped, broken, column_gaps, gaps
from matrix.model import Backend, Case, Mechanism, Rule, Source, Table, Untestable
from matrix.steps import Attack

MECHANISM = Mechanism(
    id="loopback", title="x", why="x", platforms=("linux", "windows", "kubernetes"), references=("x",)
)
CASE = Case(
    id="lo-one",
    title="A listener hears",
    mechanism="loopback",
    platforms=("linux",),
    attack="one",
    witness="tcp",
    decisive="connect",
)
WINDOWS = Untestable(
    id="win", title="Not tried", mechanisms=("loopback",), platforms=("windows",), untested="x"
)
TABLE = Table(mechanisms=(MECHANISM,), cases=(CASE,), untestable=(WINDOWS,))
SHIPPED = Shipped(
    attacks={"one": Attack(steps=frozenset({"connect"}))}, witnesses=frozenset({"tcp"}), complete=True
)
COLUMN = Backend(id="box", title="x", runner="command", platforms=("linux",), options={}, claims=None)


def kinds(table: Table, shipped: Shipped = SHIPPED) -> list[str]:
    return [problem.kind for problem in (*broken(table, shipped), *gaps(table, shipped))]


def test_a_good_table_has_no_gap() -> None:
    assert kinds(TABLE) == []


def test_kubernetes_runs_the_linux_rows() -> None:
    mac = replace(CASE, platforms=("macos",))
    table = replace(
        TABLE, cases=(mac,), mechanisms=(replace(MECHANISM, platforms=("macos", "windows", "kubernetes")),)
    )
    assert kinds(table) == ["platform-without-row"]


def test_an_attack_needs_a_row_in_the_built_in_table_alone() -> None:
    shipped = replace(SHIPPED, attacks={**SHIPPED.attacks, "two": Attack(steps=frozenset({"x"}))})
    assert kinds(TABLE, shipped) == ["attack-without-row"]
    assert kinds(TABLE, replace(shipped, complete=False)) == []


def test_a_rule_needs_a_row_or_a_reason_and_never_has_both() -> None:
    rule = Rule(id="R01", holds="x", specification="x")
    later = replace(rule, unproved="not yet")
    proved = replace(TABLE, cases=(replace(CASE, rules=("R01",)),))
    assert kinds(TABLE, replace(SHIPPED, rules=(rule,))) == ["rule-without-row"]
    assert kinds(TABLE, replace(SHIPPED, rules=(later,))) == []
    assert kinds(proved, replace(SHIPPED, rules=(rule,))) == []
    assert kinds(proved, replace(SHIPPED, rules=(later,))) == ["stray-unproved"]


def test_a_bad_attack_is_told_once_and_not_as_an_unknown_step() -> None:
    assert kinds(TABLE, replace(SHIPPED, attacks={"one": Attack(problem="no docstring")})) == ["bad-attack"]


def test_a_row_and_a_mechanism_share_no_id() -> None:
    assert kinds(replace(TABLE, cases=(replace(CASE, id="loopback"),))) == ["repeated-id"]


def test_a_mechanism_is_named_once() -> None:
    assert kinds(replace(TABLE, mechanisms=(MECHANISM, MECHANISM))) == ["repeated-id"]


def test_titles_may_end_in_a_parent_directory() -> None:
    assert kinds(replace(TABLE, cases=(replace(CASE, title="A file is read through .."),))) == []


def test_a_column_is_filled_in() -> None:
    (problem,) = column_gaps(TABLE, [replace(COLUMN, options={"argv": ["FILL IN", "{command}"]})])
    assert problem.kind == "not-filled-in"


def test_two_files_share_no_column() -> None:
    other = replace(COLUMN, source=Source(file="other.toml", line=3))
    (problem,) = column_gaps(TABLE, [COLUMN, other])
    assert (problem.kind, problem.where) == ("repeated-id", other.source)
    assert column_gaps(TABLE, [COLUMN, replace(COLUMN, id="another")]) == ()
