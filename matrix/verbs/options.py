"""Options that several verbs share, and what they come to."""

from __future__ import annotations

import argparse
from pathlib import Path

from matrix.selection import Asked


def files(parser: argparse.ArgumentParser) -> None:
    """--cases and --backends."""
    parser.add_argument(
        "--cases",
        dest="table",
        type=Path,
        metavar="FILE",
        help="the table of rows, a JSON file (default: the built-in one)",
    )
    parser.add_argument(
        "--backends",
        dest="backend_files",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="columns of your own, a TOML file; may be repeated. A built-in column of the same id gives way",
    )


def selection(parser: argparse.ArgumentParser) -> None:
    """What to run: rows and columns by id."""
    group = parser.add_argument_group("what to run")
    group.add_argument(
        "--case",
        dest="cases",
        action="append",
        default=[],
        metavar="ID",
        help="this row; may be repeated (default: every row; see: escape-matrix list cases)",
    )
    group.add_argument(
        "--mechanism",
        dest="mechanisms",
        action="append",
        default=[],
        metavar="M",
        help="every row of this mechanism, beside those of --case; may be repeated",
    )
    group.add_argument(
        "--backend",
        dest="backends",
        action="append",
        default=[],
        metavar="ID",
        help="this column; may be repeated (default: those of --backends, else every built-in default one)",
    )


def leg(parser: argparse.ArgumentParser) -> None:
    """Where and as whom."""
    group = parser.add_argument_group("as whom, how often")
    group.add_argument(
        "--user",
        default="",
        metavar="NAME",
        help="run control and sandbox as this account, which root alone may ask (default: your own). "
        "Root hides differences: an account made for it shows more",
    )
    group.add_argument(
        "--label", default="", metavar="L", help="a word for this machine in the report: stock, arm64"
    )
    group.add_argument(
        "--repeat",
        type=positive,
        default=1,
        metavar="N",
        help="try each cell N times; repeats that disagree are escaped (default: 1)",
    )


def asked(args: argparse.Namespace) -> Asked:
    """The options of a run as its selection takes them; those that a verb lacks keep their defaults."""
    given = vars(args)
    lists = {
        name: tuple(given.get(name, ())) for name in ("cases", "mechanisms", "backends", "backend_files")
    }
    rest = {name: given[name] for name in ("table", "user", "label", "repeat") if name in given}
    return Asked(**lists, **rest)


def positive(text: str) -> int:
    """A whole number from 1 on, for argparse."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number
