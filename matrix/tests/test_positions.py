"""Line numbers of rows and tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from matrix.positions import Unreadable, read_json, read_toml


def test_objects_know_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text('\n{\n "a": {},\n "b": [\n  {"c": 1}, {\n "d": {"e": "}\\n{"}}]}\n')
    read = read_json(file, "x.json")
    assert not isinstance(read, Unreadable)
    found, twice = read
    assert (found.line, found["a"].line, found["b"][0].line, found["b"][1].line, found["b"][1]["d"].line) == (
        (2, 3, 5, 5, 6)
    )
    assert found == {"a": {}, "b": [{"c": 1}, {"d": {"e": "}\n{"}}]}
    assert twice == []


@pytest.mark.parametrize(
    "text", ["", "[" * 100_000, '{"a": NaN}', '{"a": 1e5,}', '{"a": ' + "9" * 5000 + "}"]
)
def test_what_is_no_json_is_said_and_not_raised(tmp_path: Path, text: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(text)
    read = read_json(file, "x.json")
    assert isinstance(read, Unreadable)
    assert read.problem.kind == "not-json"


@pytest.mark.parametrize("name", ["", "missing", "a\0b"])
def test_what_is_no_file_is_said_and_not_raised(tmp_path: Path, name: str) -> None:
    read = read_json(tmp_path / name, "x.json")
    assert isinstance(read, Unreadable)
    assert read.problem.kind == "no-file"


def test_tables_know_the_line_of_their_header(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text(
        'top = 1\n[a]\nx = """\n[not-a-table]\n"""\ny = [\n[1],\n]\n\n'
        '  [ "b c" ]\n[d.e]\n[d.f]\n[[g]]\n[[g]]\n'
    )
    read = read_toml(file, "x.toml")
    assert not isinstance(read, Unreadable)
    assert read[1] == {"top": 1, "a": 2, "b c": 10, "d": 11, "g": 13}


def test_broken_toml_says_its_line(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text("[a]\nx = 1\n\ny = = 2\n")
    read = read_toml(file, "x.toml")
    assert isinstance(read, Unreadable)
    assert (read.problem.kind, read.problem.where.line) == ("not-toml", 4)
