"""`escape-matrix report`: a report that was written, drawn again."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from matrix import verbs
from matrix.errors import Code, DataError, Problem, UsageError, WriteError
from matrix.model import Source
from matrix.report import jsonl, markdown, terminal
from matrix.verbs import gate

WHAT = """\
Draw a report. From report.jsonl alone, so it can be done later and on another machine. The exit code
says only whether it could be drawn: for the decision of the gate see `escape-matrix gate`."""

EXAMPLE = """\
escape-matrix report out/report.jsonl
escape-matrix report out/report.jsonl --format markdown-table
escape-matrix report out/report.jsonl --format markdown-table --into README.md
escape-matrix report out/report.jsonl --format markdown-table --case mm-sni-other"""

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
        help="put the Markdown table into this file, between its markers",
    )
    parser.add_argument(
        "--name",
        default="matrix",
        help=f"what its markers are called (default: matrix, as in {markdown.markers('matrix')[0]})",
    )
    parser.add_argument(
        "--case",
        dest="cases",
        action="append",
        default=[],
        metavar="ID",
        help="the Markdown table has this row's verdicts in place of counts; may be repeated",
    )
    gate.options(parser)


def act(args: argparse.Namespace) -> int:
    """Draw it."""
    report = jsonl.read(args.report)
    if args.format == "markdown-table":
        table = markdown.rows(report, args.cases) if args.cases else markdown.table(report)
        _put(table, args.into, args.name)
    elif args.into is not None or args.cases:
        raise UsageError.one("--into and --case are for the Markdown table", "add --format markdown-table")
    else:
        terminal.show(report, gate.decide(report, args), sys.stdout)
    return Code.CLEAN


def _put(table: str, into: Path | None, name: str) -> None:
    """Print a table, or write it into a file between the markers of that name."""
    if into is None:
        print(table)
        return
    where = Source(file=str(into))
    try:
        text = into.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        what = f"the file cannot be read: {error}"
        raise DataError([Problem(kind="no-file", where=where, what=what, do="check the path")]) from error
    changed = markdown.between(text, table, str(into), name)
    try:
        into.write_text(changed, encoding="utf-8")
    except OSError as error:
        what = f"the file cannot be written: {error.strerror or error}"
        do = "check its mode, and the room on its disk"
        raise WriteError([Problem(kind="cannot-write", where=where, what=what, do=do)]) from error
