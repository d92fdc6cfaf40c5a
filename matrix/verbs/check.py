"""escape-matrix check: whether rows and columns are right and leave no gap."""

from __future__ import annotations

import argparse

from matrix import material
from matrix.verbs import Verbs, options, parser


def add(verbs: Verbs) -> None:
    """The verb `check`."""
    made = parser(
        verbs,
        "check",
        act,
        what="""\
            Check the table and the columns. Starts nothing; prints every problem of every file as
            `file:line: id: what is wrong; what to do`, and ends with 13 if there is one.

            Besides the shape of the files it checks that every mechanism has a row on each platform
            that it names, every attack a row, every row its attack, its witness, its decisive step
            and a title that is a fact, that no id repeats, and that claims name what exists.""",
        example="escape-matrix check\nescape-matrix check --backends my-sandbox.toml",
    )
    options.files(made)


def act(args: argparse.Namespace) -> int:
    """Check, and count what is right."""
    found = material.check(args.table, args.backend_files)
    table = found.table
    print(
        f"{len(table.cases)} cases, {len(table.untestable)} untestable rows, "
        f"{len(table.mechanisms)} mechanisms, {len(found.backends)} backends: no problem found"
    )
    return 0
