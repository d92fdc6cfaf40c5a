"""`escape-matrix report`: a report that was written, drawn again."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from matrix import verbs
from matrix.errors import Code, DataError, Problem, UsageError, WriteError
from matrix.model import Source
from matrix.record import Report
from matrix.report import jsonl, markdown, terminal
from matrix.verbs import gate

WHAT = """\
Draw a report. From report.jsonl alone, so it can be done later and on another machine. The exit code
says only whether it could be drawn: for the decision of the gate see `escape-matrix gate`."""

EXAMPLE = """\
escape-matrix report out/report.jsonl
escape-matrix report out/report.jsonl --format markdown-table
escape-matrix report out/report.jsonl --format markdown-table --into README.md"""

FORMATS = ("terminal", "markdown-table")


def add(found: verbs.Verbs) -> None:
    """The verb's parser."""
    parser = verbs.parser(found, "report", act, what=WHAT, example=EXAMPLE)
    parser.add_argument("report", type=Path, metavar="REPORT", help="a report.jsonl")
    parser.add_argument("--format", choices=FORMATS, default="terminal", help="how (default: terminal)")
    parser.add_argument(
        "--into",
        type=Path,
        metavar="FILE",
        help=f"put the Markdown table into this file, between {markdown.BEGIN} and {markdown.END}",
    )
    gate.options(parser)


def act(args: argparse.Namespace) -> int:
    """Draw it."""
    report = jsonl.read(args.report)
    if args.format == "markdown-table":
        _table(report, args.into)
    elif args.into is not None:
        raise UsageError.one("--into is for the Markdown table", "add --format markdown-table")
    else:
        terminal.show(report, gate.decide(report, args), sys.stdout)
    return Code.CLEAN


def _table(report: Report, into: Path | None) -> None:
    table = markdown.table(report)
    if into is None:
        print(table)
        return
    where = Source(file=str(into))
    try:
        text = into.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        what = f"the file cannot be read: {error}"
        raise DataError([Problem(kind="no-file", where=where, what=what, do="check the path")]) from error
    changed = markdown.between(text, table, str(into))
    try:
        into.write_text(changed, encoding="utf-8")
    except OSError as error:
        what = f"the file cannot be written: {error.strerror or error}"
        do = "check its mode, and the room on its disk"
        raise WriteError([Problem(kind="cannot-write", where=where, what=what, do=do)]) from error
