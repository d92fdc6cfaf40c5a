"""`escape-matrix gate`: whether a report lets a release pass."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path

from matrix import gate, verbs
from matrix.load_expectations import load_expectations
from matrix.record import Report
from matrix.report import jsonl

WHAT = """\
Decide whether a report passes. What the vendors claim must be held, and so must whatever the
expectations require; what had to be tested must have been tested. The decision is said in at most ten
lines, and it is the exit code: see `escape-matrix --help`."""

EXAMPLE = """\
escape-matrix gate out/report.jsonl
escape-matrix gate out/report.jsonl --expect expectations.toml --strict"""


def add(found: verbs.Verbs) -> None:
    """The verb's parser."""
    parser = verbs.parser(found, "gate", act, what=WHAT, example=EXAMPLE)
    parser.add_argument("report", type=Path, metavar="REPORT", help="a report.jsonl")
    options(parser)


def act(args: argparse.Namespace) -> int:
    """Decide, and say why."""
    decision = decide(jsonl.read(args.report), args)
    print("\n".join(decision.lines()))
    return decision.code


def options(parser: argparse.ArgumentParser) -> None:
    """What else the decision depends on."""
    parser.add_argument(
        "--expect",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="expectations, a TOML file; may be repeated (default: the vendors' claims alone)",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="every cell has to be tested of the columns that were named, of all where none was",
    )


def decide(report: Report, args: argparse.Namespace) -> gate.Decision:
    """The decision as of today, in UTC."""
    entries = [entry for file in args.expect for entry in load_expectations(file)]
    return gate.decide(report, entries, datetime.now(UTC).date(), strict=args.strict)
