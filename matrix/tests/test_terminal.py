"""The terminal report and the Markdown table, against golden files and against hostile cells.

To write the golden files anew after a change that was meant: EM_GOLDEN=write pytest …, and read the diff.
"""

from __future__ import annotations

import io
import os
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from rich.console import Console

from matrix.errors import DataError
from matrix.gate import decide
from matrix.model import Cell, Escaped, Reason
from matrix.record import Report, assemble
from matrix.report import markdown, terminal
from matrix.tests.samples import ESCAPED, cell, header, report, untested

GOLDEN = Path(__file__).parent / "golden"
TODAY = date(2026, 11, 30)
BEGIN, END = markdown.markers("matrix")

SWITCHED_OFF = untested(Reason.CONTROL_FAILED, "unconfined: ioctl: EIO; dev.tty.legacy_tiocsti=0")
BROKEN = untested(Reason.FAULT, "connect: EMFILE is no refusal")
GONE = untested(Reason.NOT_INSTALLED, "no program nsjail")


def column(backend: str, *verdicts: object, claimed: bool = True) -> list[Cell]:
    cases = ("lo-tcp4", "lo-tcp6", "lo-udp", "tty-tiocsti", "tty-highbits")
    mechanisms = ("loopback", "loopback", "loopback", "terminal", "terminal")
    return [
        cell(case, verdict, backend=backend, mechanism=mechanism, claimed=claimed)  # type: ignore[arg-type]
        for case, mechanism, verdict in zip(cases, mechanisms, verdicts, strict=True)
    ]


def sample() -> Report:
    held = cell("any").verdict
    return report(
        *column("null", ESCAPED, ESCAPED, ESCAPED, SWITCHED_OFF, SWITCHED_OFF, claimed=False),
        *column("bubblewrap", held, held, held, held, SWITCHED_OFF),
        *column("bubblewrap-usual", held, held, BROKEN, ESCAPED, SWITCHED_OFF),
        *column("nsjail", GONE, GONE, GONE, GONE, GONE),
        *column("unshare", held, ESCAPED, held, SWITCHED_OFF, SWITCHED_OFF, claimed=False),
        columns={"nsjail": {"missing": "no program nsjail", "version": ""}},
        mechanisms={"terminal": "The caller's terminal", "loopback": "Services on the host's loopback"},
    )


def shown(found: Report, width: int = 100, encoding: str = "utf-8") -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict")
    console = terminal.console_for(stream, {"COLUMNS": str(width)})
    page = terminal.Page(console, found)
    for part in page.parts(decide(found, [], TODAY)):
        console.print(part)
    stream.flush()
    written: str = stream.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]
    return "".join(line.rstrip(" ") + "\n" for line in written.splitlines())


def golden(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("EM_GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "width", "encoding"),
    [
        ("terminal-100.txt", 100, "utf-8"),
        ("terminal-40.txt", 40, "utf-8"),
        ("terminal-ascii.txt", 100, "ascii"),
    ],
)
def test_the_page_is_as_it_was(name: str, width: int, encoding: str) -> None:
    golden(name, shown(sample(), width, encoding))


def test_the_table_for_the_readme_is_as_it_was() -> None:
    golden("matrix.md", markdown.table(sample()) + "\n")


@pytest.mark.parametrize("width", [20, 40, 72, 100, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert max(map(len, shown(sample(), width).splitlines())) <= width


def test_a_column_that_lets_everything_through_is_one_line() -> None:
    """No sandbox at all would else fill pages with every row there is."""
    open_ = [cell(f"c{number}", ESCAPED, backend="null", claimed=False) for number in range(41)]
    assert "null: 41, all that was tested\n" in shown(report(*open_, cell("d", BROKEN, backend="null")))
    assert "c40" in shown(report(*open_, cell("d", backend="null")))


def test_an_incomplete_report_says_so() -> None:
    page = shown(replace(sample(), faults=("it has no footer",)))
    assert "The report is not complete\n  it has no footer" in page
    assert "gate: 14" in page
    lost = assemble(header(cell("a"), cell("a", backend="other")), [cell("a")], (), None, "")
    assert "? other: no cell in the report\n" in shown(lost)
    assert "not complete" in markdown.table(replace(sample(), faults=("it has no footer",)))


def test_an_empty_report_is_drawn_too() -> None:
    assert "gate: 15" in shown(report())
    assert "Nothing was tested" in markdown.table(report())


HOSTILE = "\x1b[31m[bold]|`<b>\u202e\x07\r\n:smile:[link=x]" + "y" * 100_000


def hostile() -> Report:
    loud = Escaped(evidence=HOSTILE)
    return report(
        cell("c", loud, mechanism=HOSTILE[:30], backend=HOSTILE[:20], repeat=HOSTILE),
        cell("d", untested(Reason.FAULT, HOSTILE), backend="other"),
        titles={"c": HOSTILE, "d": HOSTILE},
        host={"kernel": HOSTILE},
        columns={HOSTILE[:20]: {"version": HOSTILE}},
    )


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_a_hostile_cell_steers_nothing(encoding: str) -> None:
    page = shown(hostile(), encoding=encoding)
    assert len(page) < 40_000
    assert all(character.isprintable() or character == "\n" for character in page)
    assert "\u202e" not in page
    assert "[bold]" in page
    assert ":smile:" in page


def test_a_hostile_cell_is_no_markup_in_a_table() -> None:
    text = markdown.table(hostile())
    assert "<b>" not in text
    assert "\u202e" not in text
    widths = {line.replace("\\|", "").count("|") for line in text.splitlines() if line.startswith("|")}
    assert widths == {3}


def test_no_colour_where_none_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[" in coloured({})
    assert "\x1b[31" not in coloured({"NO_COLOR": "1"})


def coloured(environ: dict[str, str]) -> str:
    stream = io.StringIO()
    console: Console = terminal.console_for(stream, environ)
    console.print(terminal.Page(console, sample()).text("word", "bold red"))
    return stream.getvalue()


def test_the_table_goes_between_its_markers() -> None:
    text = f"# Us\n{BEGIN}\nold\n{END}\nrest\n"
    once = markdown.between(text, "| new |", "README.md", "matrix")
    assert once == f"# Us\n{BEGIN}\n\n| new |\n\n{END}\nrest\n"
    assert markdown.between(once, "| new |", "README.md", "matrix") == once


@pytest.mark.parametrize("text", ["no marker", BEGIN, f"{END} {BEGIN}"])
def test_a_file_without_both_markers_is_left_alone(text: str) -> None:
    with pytest.raises(DataError, match="lacks the marker"):
        markdown.between(text, "x", "README.md", "matrix")
