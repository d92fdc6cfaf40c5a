"""The native format: what is written is read again, and whatever is missing is noticed."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from matrix import locate
from matrix.errors import Code, ReportError, WriteError
from matrix.model import Escaped, Reason
from matrix.record import Amend
from matrix.report.jsonl import Writer, read
from matrix.tests.samples import ESCAPED, LEG, cell, header, untested, write

CELLS = (
    cell("lo-tcp4"),
    cell("lo-udp", ESCAPED, claimed=False),
    cell("lo-mapped", untested(Reason.CONTROL_FAILED)),
    cell("lo-tcp4", backend="other"),
)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(tmp_path / "out" / "report.jsonl", *CELLS)


def test_what_is_written_is_read_again(path: Path) -> None:
    found = read(path)
    assert found.complete, found.faults
    assert found.header == header(*CELLS)
    assert found.cells == CELLS


def test_every_line_satisfies_the_schema(path: Path) -> None:
    schema = json.loads((locate.testdata() / "report.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    late = Writer(path.with_name("late.jsonl"), header(CELLS[0]))
    late.cell(CELLS[0])
    late.amend(Amend(case="lo-tcp4", backend="box", leg=LEG, evidence="a beat after exit"))
    late.finish()
    for line in lines(path) + lines(late.path):
        assert not [error.message for error in validator.iter_errors(line)]
    for broken in ({"kind": "cell"}, lines(path)[1] | {"verdict": "blocked"}, lines(path)[1] | {"env": {}}):
        assert list(validator.iter_errors(broken))


def test_every_line_is_in_the_file_before_the_next(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "report.jsonl", header(*CELLS))
    for number, each in enumerate(CELLS, start=2):
        writer.cell(each)
        assert len(lines(writer.path)) == number
    writer.close()
    assert read(writer.path).cells == CELLS
    assert read(writer.path).faults == ("it has no footer: the run did not come to its end",)


def test_a_late_canary_turns_its_cell_to_escaped(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "report.jsonl", header(*CELLS))
    for each in CELLS:
        writer.cell(each)
    writer.amend(Amend(case="lo-tcp4", backend="box", leg=LEG, evidence="a beat after exit"))
    writer.finish()
    found = read(writer.path)
    assert found.complete, found.faults
    assert found.cells[0].verdict == Escaped(evidence="late: a beat after exit")
    assert found.cells[1:] == CELLS[1:]


def test_cells_are_read_in_the_order_of_the_plan(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "report.jsonl", header(*CELLS))
    for each in reversed(CELLS):
        writer.cell(each)
    writer.finish()
    assert read(writer.path).complete
    assert [each.case for each in read(writer.path).cells] == [each.case for each in CELLS]


def test_a_report_never_holds_the_environment(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EM_TEST_SECRET", "em-not-for-anybody")
    write(path, *CELLS)
    assert "em-not-for-anybody" not in path.read_text()


def test_what_a_sandbox_says_is_bounded_and_ascii(tmp_path: Path) -> None:
    loud = cell("lo-tcp4", Escaped(evidence="\x1b]0;\u202e" + "x" * 1_000_000))
    text = write(tmp_path / "report.jsonl", loud).read_bytes()
    assert len(text) < 10_000
    assert all(byte == 10 or 32 <= byte < 127 for byte in text)
    assert read(tmp_path / "report.jsonl").complete


def edited(path: Path, number: int, **changes: Any) -> None:
    changed = lines(path)
    changed[number] = changed[number] | changes
    path.write_text("".join(json.dumps(line) + "\n" for line in changed))


@pytest.mark.parametrize(
    ("what", "says"),
    [
        (lambda x: x[:-1], "no footer"),
        (lambda x: [*x[:1], *x[2:]], "1 cell missing: lo-tcp4@box@linux"),
        (lambda x: [*x[:2], x[1], *x[2:]], "1 cell there twice: lo-tcp4@box@linux"),
        (lambda x: [x[0], *x[2:4], x[1], *x[4:]], "the digest differs"),
        (lambda x: [*x[:-1], x[-1][:20]], "line 6 is cut short"),
        (lambda x: [*x[:-2], x[-2][:50]], "line 5 is cut short"),
        (lambda x: [x[0], x[1].replace("lo-tcp4", "lo-new"), *x[2:]], "1 cell not planned: lo-new"),
        (lambda x: [x[0], x[1].replace('"held"', '"escaped"'), *x[2:]], "its footer counts 2 held"),
        (lambda x: [*x[:-1], x[-1].replace('"held": 2', '"held": 1')], "3 cells, 4 were planned"),
    ],
)
def test_whatever_is_missing_makes_it_incomplete(path: Path, what: Any, says: str) -> None:
    path.write_text("".join(what(path.read_text().splitlines(keepends=True))))
    found = read(path)
    assert not found.complete
    assert any(says in fault for fault in found.faults), found.faults


def test_a_report_made_on_fakes_is_incomplete(tmp_path: Path) -> None:
    found = read(write(tmp_path / "report.jsonl", *CELLS, fakes=True))
    assert found.faults == ("it was made on fakes, which say nothing about any sandbox",)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "the file is empty"),
        (b'{"kind": "cell"}\n', "no header"),
        (b"<html>\n", "the header is damaged"),
        (b"\xff\xfe\x00\n", "the header is damaged"),
        (b"[1]\n", "no object"),
        (b'{"kind": "header", "format": 2}\n', "format 2"),
        (b'{"kind": "header", "format": 1}\n', "the header is damaged"),
        (b'{"kind": "header", "format": 1, "x": ' + b"[" * 100_000, "the header is damaged"),
    ],
)
def test_a_file_that_is_no_report_is_unreadable(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "report.jsonl"
    path.write_bytes(content)
    with pytest.raises(ReportError, match=says) as caught:
        read(path)
    assert caught.value.code is Code.UNREADABLE


@pytest.mark.parametrize(
    ("number", "changes", "says"),
    [
        (1, {"verdict": "blocked"}, "'blocked' is no verdict"),
        (3, {"reason": "bored"}, "no reason for untested"),
        (3, {"reason_kind": "fault"}, "is of the kind host"),
        (1, {"claimed": "yes"}, "claimed is 'yes'"),
        (1, {"seconds": True}, "seconds is True"),
        (1, {"argv": [1]}, "argv holds something else"),
        (1, {"kind": "note"}, "'note' is no kind of line"),
        (1, {"kind": "amend", "verdict": "held"}, "can only say escaped"),
        (5, {"counts": {"held": 4}}, "counts must be whole numbers"),
        (5, {"counts": {"held": 4, "escaped": -1, "untested": 1}}, "counts must be whole numbers"),
        (0, {"planned": 3}, "planned is 3"),
    ],
)
def test_a_damaged_line_makes_it_unreadable(path: Path, number: int, changes: Any, says: str) -> None:
    edited(path, number, **changes)
    with pytest.raises(ReportError, match=says) as caught:
        read(path)
    assert f"report.jsonl:{number + 1}" in str(caught.value)


def test_a_line_cut_in_the_middle_is_damage_and_not_an_end(path: Path) -> None:
    raw = path.read_bytes().splitlines(keepends=True)
    raw[2] = raw[2][:40] + b"\n"
    path.write_bytes(b"".join(raw))
    with pytest.raises(ReportError, match="damaged"):
        read(path)


def test_two_reports_in_one_file_are_unreadable(path: Path) -> None:
    path.write_bytes(path.read_bytes() * 2)
    with pytest.raises(ReportError, match="after the footer"):
        read(path)


def test_an_amendment_of_no_cell_is_noticed(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "report.jsonl", header(CELLS[0]))
    writer.cell(CELLS[0])
    writer.amend(Amend(case="lo-tcp4", backend="box", leg=replace(LEG, identity="root"), evidence="late"))
    writer.finish()
    assert any("amended, but not there" in fault for fault in read(writer.path).faults)


def test_a_missing_file_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="no such file"):
        read(tmp_path / "report.jsonl")


def test_a_full_disk_at_the_start_is_told_at_once() -> None:
    with pytest.raises(WriteError, match="no space left") as caught:
        Writer(Path("/dev/full"), header(*CELLS))
    assert caught.value.code is Code.CANNOT_WRITE


def fill(writer: Writer) -> None:
    """From now on the writer's disk is full."""
    assert writer._file is not None
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, writer._file)
    os.close(full)


def test_a_disk_that_fills_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    writer = Writer(tmp_path / "out" / "report.jsonl", header(*CELLS))
    writer.cell(CELLS[0])
    fill(writer)
    for each in CELLS[1:]:
        writer.cell(each)
    with pytest.raises(WriteError, match="what was measured is in") as caught:
        writer.finish()
    assert writer.fallback is not None
    assert str(writer.fallback) in str(caught.value)
    assert read(writer.fallback).complete
    assert read(writer.fallback).cells == CELLS
    assert not read(writer.path).complete


def test_with_no_room_anywhere_it_stays_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "not-there"))
    writer = Writer(tmp_path / "report.jsonl", header(*CELLS))
    fill(writer)
    for each in CELLS:
        writer.cell(each)
    with pytest.raises(WriteError, match="no such file"):
        writer.finish()
    (tmp_path / "kept.jsonl").write_bytes(b"".join(writer.kept))
    assert read(tmp_path / "kept.jsonl").cells == CELLS
