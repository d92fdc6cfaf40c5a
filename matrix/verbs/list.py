"""escape-matrix list: what rows, columns, mechanisms and rules there are."""

from __future__ import annotations

import argparse
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from matrix import locate
from matrix.errors import UsageError
from matrix.load import load_rules
from matrix.material import read
from matrix.model import Backend, Cell, Rule, Table
from matrix.record import WORDS
from matrix.report import jsonl
from matrix.verbs import Verbs, options, parser

WIDTH = 110  # characters of a line of row ids


def add(verbs: Verbs) -> None:
    """The verb `list`."""
    made = parser(
        verbs,
        "list",
        act,
        what="""\
            List the rows, the columns, the mechanisms or the specification's rules. One line each: what
            other verbs call it, and what it is. A rule is followed by the rows that prove it, and, with a
            report, by what they came to in each column.""",
        example="escape-matrix list cases\nescape-matrix list backends --backends my-sandbox.toml\n"
        "escape-matrix list rules --report out/report.jsonl",
    )
    made.add_argument("what", choices=("cases", "backends", "mechanisms", "rules"), help="what to list")
    made.add_argument(
        "--report", type=Path, metavar="FILE", help="of rules: what their rows came to in this report.jsonl"
    )
    options.files(made)


def act(args: argparse.Namespace) -> int:
    """Print the list."""
    found = read(args.table, args.backend_files)
    if args.report is not None and args.what != "rules":
        raise UsageError.one("--report is for the rules", "write: escape-matrix list rules --report FILE")
    match args.what:
        case "rules":
            cells = jsonl.read(args.report).cells if args.report else ()
            for rule in load_rules(locate.rules()):
                print("\n".join(_rule(rule, found.table, cells)))
        case "cases":
            _print(_cases(found.table))
        case "backends":
            _print(_backends(found.backends))
        case _:
            _print((each.id, ",".join(each.platforms), each.title) for each in found.table.mechanisms)
    return 0


def _cases(table: Table) -> Iterable[Sequence[str]]:
    for case in table.cases:
        yield case.id, case.mechanism, ",".join(case.platforms), case.title
    for row in table.untestable:
        yield row.id, "untested", ",".join(row.platforms), f"{row.title}: {row.untested}"


def _backends(columns: Iterable[Backend]) -> Iterable[Sequence[str]]:
    for column in columns:
        kind = "wide open" if column.wide_open else "default" if column.default else "on request"
        yield column.id, column.runner, ",".join(column.platforms), kind, column.title


def _rule(rule: Rule, table: Table, cells: Sequence[Cell]) -> Iterator[str]:
    """The rule, its rows, and their verdicts by column."""
    rows = [case.id for case in table.cases if rule.id in case.rules]
    yield f"{rule.id}  {rule.holds} ({rule.specification})"
    said = (
        f"{len(rows)} row{'' if len(rows) == 1 else 's'}: {', '.join(rows)}"
        if rows
        else f"no row: {rule.unproved}"
    )
    yield textwrap.fill(
        said, WIDTH, initial_indent="     ", subsequent_indent="       ", break_on_hyphens=False
    )
    mine = [cell for cell in cells if cell.case in rows]
    for column in dict.fromkeys(cell.backend for cell in mine):
        count = Counter(cell.word for cell in mine if cell.backend == column)
        yield f"     {column}: {', '.join(f'{count[word]} {word}' for word in WORDS if count[word])}"


def _print(rows: Iterable[Sequence[str]]) -> None:
    """Columns aligned, the last one as long as it is."""
    found = [*rows]
    widths = [max(map(len, cells)) for cells in zip(*found, strict=True)][:-1]
    for row in found:
        print("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]))
