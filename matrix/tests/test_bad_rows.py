"""Every mistake that a person can make in a row or a column has a file here, named after it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from matrix import cli, locate, material
from matrix.coverage import broken, column_gaps, gaps
from matrix.errors import Code, DataError, Problem
from matrix.load import load_table
from matrix.load_backends import load_backends

CORPUS = locate.testdata() / "bad_rows"
FILES = sorted(path for path in CORPUS.iterdir() if path.suffix in {".json", ".toml"})
SEVERAL = "five-at-once"  # the one file with more than one mistake
EXPECTED = (CORPUS / "expected.txt").read_text().splitlines()

# What a file of rows or columns cannot get wrong: it is about the attacks and rules beside it.
ELSEWHERE = {"attack-without-row", "bad-attack", "rule-without-row", "stray-unproved"}


def problems(path: Path) -> tuple[Problem, ...]:
    """All that the checks of `escape-matrix check` say of one file."""
    try:
        if path.suffix == ".json":
            shipped, table = material.shipped(complete=False), load_table(path)
            return (*broken(table, shipped), *gaps(table, shipped))
        return column_gaps(load_table(CORPUS / "good" / "table.json"), load_backends(path))
    except DataError as error:
        return error.problems


def kind_of(path: Path) -> str:
    """unknown-key.step.json is one more file of the kind unknown-key."""
    return path.name.split(".")[0]


def id_of(path: Path) -> str:
    return path.name


def test_the_good_table_and_columns_of_the_corpus_are_good() -> None:
    assert problems(CORPUS / "good" / "table.json") == ()
    assert problems(CORPUS / "good" / "columns.toml") == ()


@pytest.mark.parametrize("path", FILES, ids=id_of)
def test_a_bad_file_raises_the_error_of_its_name(path: Path) -> None:
    found = problems(path)
    if path.stem == SEVERAL:
        assert len(found) == len({problem.what for problem in found}) == 5
    else:
        assert [problem.kind for problem in found] == [kind_of(path)]


@pytest.mark.parametrize("path", FILES, ids=id_of)
def test_a_message_says_file_line_id_and_what_to_do(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a person sees it: through the command line, word for word."""
    table = path if path.suffix == ".json" else CORPUS / "good" / "table.json"
    columns = path if path.suffix == ".toml" else CORPUS / "good" / "columns.toml"
    assert cli.main(["check", "--cases", str(table), "--backends", str(columns)]) == Code.DATA
    said = capsys.readouterr()
    assert said.out == ""
    assert "Traceback" not in said.err
    expected = [line for line in EXPECTED if line.startswith((f"{path.name}:", f"sections/{path.name}:"))]
    assert expected
    assert said.err.replace("testdata/bad_rows/", "").splitlines() == expected
    for problem in problems(path):
        assert problem.where.line > 0
        assert problem.do


def test_a_good_file_raises_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    good = CORPUS / "good"
    assert (
        cli.main(["check", "--cases", str(good / "table.json"), "--backends", str(good / "columns.toml")])
        == 0
    )
    assert "2 cases" in capsys.readouterr().out


def test_expected_speaks_of_no_other_file() -> None:
    names = {path.name for path in FILES} | {"sections/not-a-section.json"}
    assert {line.split(":")[0] for line in EXPECTED} <= names


def test_every_kind_of_mistake_has_a_file_and_every_file_a_kind() -> None:
    kinds: set[str] = set()
    for name in ("positions", "shape", "load", "load_backends", "coverage"):
        kinds |= _kinds(ast.parse((locate.package("matrix") / f"{name}.py").read_text()))
    assert {kind_of(path) for path in FILES} - {SEVERAL} == kinds - ELSEWHERE


def _kinds(tree: ast.AST) -> set[str]:
    """The constants that are given as a problem's kind."""
    found: list[ast.expr] = []
    for node in ast.walk(tree):
        match node:
            case ast.keyword(arg="kind", value=value):
                found.append(value)
            case ast.Call(func=ast.Name(id="_problem" | "_unreadable"), args=[first, *_]):
                found.append(first)
            case ast.Tuple(elts=[first, _, _]):
                found.append(first)
            case _:
                pass
    return {node.value for node in found if isinstance(node, ast.Constant) and isinstance(node.value, str)}
