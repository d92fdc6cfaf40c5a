"""`list rules`: each rule with the rows that prove it, and what those came to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from matrix import cli, locate
from matrix.coverage import Shipped, gaps
from matrix.errors import Code, DataError
from matrix.load import load_rules, load_table
from matrix.model import Rule
from matrix.tests import samples
from matrix.tests.samples import ESCAPED, HELD

PROVED = {*(f"R{number:02}" for number in (1, 2, 3, 4, 9, 10, 11, 12, *range(20, 25)))}
"""What the rows about hosts have to prove of the specification."""

TABLE = load_table(locate.table())


def test_every_rule_about_hosts_has_a_row() -> None:
    assert {rule for case in TABLE.cases for rule in case.rules} >= PROVED
    assert {rule.id for rule in load_rules(locate.rules())} >= PROVED


def test_a_rule_without_a_row_is_a_gap() -> None:
    rule = Rule(id="R98", holds="x", specification="y")
    shipped = Shipped(attacks={}, witnesses=frozenset(), complete=True, rules=(rule,))
    assert [problem.kind for problem in gaps(TABLE, shipped) if problem.id == "R98"] == ["rule-without-row"]
    named = replace(TABLE, cases=(replace(TABLE.cases[0], rules=("R98",)),))
    assert not [problem for problem in gaps(named, shipped) if problem.id == "R98"]


def test_a_rule_is_listed_with_its_rows_and_their_verdicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [case.id for case in TABLE.cases if "R24" in case.rules]
    report = samples.write(
        tmp_path / "report.jsonl",
        samples.cell(rows[0], HELD, backend="box"),
        samples.cell(rows[1], ESCAPED, backend="box"),
        samples.cell("lo-tcp4", HELD, backend="other"),
    )
    assert cli.main(["list", "rules", "--report", str(report)]) == Code.CLEAN
    said = capsys.readouterr().out
    one = said[said.index("R24") :].partition("\nR")[0]
    assert f"{len(rows)} rows: {rows[0]}" in one
    assert "box: 1 held, 1 escaped" in one
    assert "other" not in one


def test_a_report_is_for_the_rules_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list", "cases", "--report", "x"]) == Code.USAGE
    assert "--report is for the rules" in capsys.readouterr().err


def test_a_file_of_rules_with_a_mistake_says_where(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    path.write_text('{"rules": [\n{"id": "1", "holds": "x", "specification": "y"}]}')
    with pytest.raises(DataError, match="write R and two digits") as raised:
        load_rules(path)
    assert raised.value.problems[0].where.line == 2
