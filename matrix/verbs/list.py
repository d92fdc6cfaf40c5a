"""escape-matrix list: what rows, columns and mechanisms there are."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

from matrix.material import read
from matrix.model import Backend, Table
from matrix.verbs import Verbs, options, parser


def add(verbs: Verbs) -> None:
    """The verb `list`."""
    made = parser(
        verbs,
        "list",
        act,
        what="""\
            List the rows, the columns or the mechanisms. One line each: what other verbs call it,
            and what it is.""",
        example="escape-matrix list cases\nescape-matrix list backends --backends my-sandbox.toml",
    )
    made.add_argument("what", choices=("cases", "backends", "mechanisms"), help="what to list")
    options.files(made)


def act(args: argparse.Namespace) -> int:
    """Print the list."""
    found = read(args.table, args.backend_files)
    match args.what:
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


def _print(rows: Iterable[Sequence[str]]) -> None:
    """Columns aligned, the last one as long as it is."""
    found = [*rows]
    widths = [max(map(len, cells)) for cells in zip(*found, strict=True)][:-1]
    for row in found:
        print("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]))
