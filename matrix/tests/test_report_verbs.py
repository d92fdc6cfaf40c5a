"""The verbs `report` and `gate`, through the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from matrix.cli import main
from matrix.report.markdown import markers
from matrix.tests.samples import ESCAPED, cell, untested, write

CELLS = (cell("a"), cell("b", ESCAPED, claimed=False))
BEGIN, END = markers("matrix")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(tmp_path / "report.jsonl", *CELLS)


def test_a_report_is_drawn(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(path)]) == 0
    out = capsys.readouterr().out
    assert "✓ 1 held" in out
    assert "gate: 0: everything that had to hold is held" in out


def test_a_table_goes_into_a_file(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    readme = path.with_name("README.md")
    readme.write_text(f"{BEGIN}\n{END}\n")
    assert main(["report", str(path), "--format", "markdown-table", "--into", str(readme)]) == 0
    assert "| loopback |" in readme.read_text()
    assert main(["report", str(path), "--format", "markdown-table"]) == 0
    assert capsys.readouterr().out.strip() in readme.read_text()


def test_rows_of_their_own_go_between_markers_of_their_own(path: Path) -> None:
    readme = path.with_name("README.md")
    first, last = markers("telling")
    readme.write_text(f"{BEGIN}\n{END}\n{first}\n{last}\n")
    drawn = ["report", str(path), "--format", "markdown-table", "--into", str(readme), "--name", "telling"]
    assert main([*drawn, "--case", "b", "--case", "a"]) == 0
    assert readme.read_text().startswith(f"{BEGIN}\n{END}\n{first}\n\n|  | ")
    assert [line[-3] for line in readme.read_text().splitlines() if line.endswith(" |")][2:] == ["❌", "✅"]
    assert main([*drawn, "--case", "no-such-row"]) == 2


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (["--into", "README.md"], 2, "add --format markdown-table"),
        (["--case", "a"], 2, "add --format markdown-table"),
        (["--format", "markdown-table", "--into", "no-such-file"], 13, "cannot be read"),
        (["--format", "markdown-table", "--into", "/dev/null"], 13, "lacks the marker"),
    ],
)
def test_what_cannot_be_drawn_is_said(
    path: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: int, says: str
) -> None:
    assert main(["report", str(path), *options]) == code
    assert says in capsys.readouterr().err


def test_a_table_that_cannot_be_written(
    path: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"{BEGIN}\n{END}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Path, "write_text", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "No space left"))
        )
        assert main(["report", str(path), "--format", "markdown-table", "--into", str(readme)]) == 16
    assert "No space left" in capsys.readouterr().err


def test_the_gate_decides(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gate", str(path)]) == 0
    expect = path.with_name("expect.toml")
    expect.write_text('[b]\nmatch.case = "b"\nexpect = "held"\nreason = "we need it"\nowner = "us"\n')
    assert main(["gate", str(path), "--expect", str(expect)]) == 10
    assert "required held, and escaped: b" in capsys.readouterr().out
    expect.write_text("[b]\n")
    assert main(["gate", str(path), "--expect", str(expect)]) == 13


def test_a_report_is_cut_doubled_or_edited(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:1] + lines[2:]))
    assert main(["gate", str(path)]) == 14
    path.write_text("".join([*lines[:2], lines[1], *lines[2:]]))
    assert main(["gate", str(path)]) == 14
    path.write_text("".join(lines).replace('"escaped"', '"held"', 1))
    assert main(["gate", str(path)]) == 14
    path.write_text("not a report\n")
    assert main(["gate", str(path)]) == 17
    assert "report.jsonl:1: the header is damaged" in capsys.readouterr().err


def test_a_run_in_which_all_is_untested_fails(tmp_path: Path) -> None:
    path = write(tmp_path / "report.jsonl", cell("a", untested(), claimed=False))
    assert main(["gate", str(path)]) == 11
    assert main(["gate", str(write(path))]) == 15


def test_strict_is_an_option(tmp_path: Path) -> None:
    cells = (cell("a"), cell("b", untested(), claimed=False))
    path = write(tmp_path / "report.jsonl", *cells)
    assert main(["gate", str(path)]) == 0
    assert main(["gate", str(path), "--strict"]) == 11
