"""`escape-matrix run`: the matrix, in the terminal and as a report, with the gate's exit code."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from matrix import locate, verbs
from matrix.errors import Code, UsageError
from matrix.load_expectations import load_expectations
from matrix.preview import preview
from matrix.progress import Progress
from matrix.selection import Asked, select
from matrix.verbs import options

WHAT = """\
Run attacks, unconfined and under each sandbox, and report. Every row runs unconfined first, then in the
sandbox, then unconfined again; the matrix is printed, and the exit code is the gate's. An interrupted run
keeps what it measured in the report, which is then incomplete."""

EXAMPLE = """\
escape-matrix run
escape-matrix run --backend bubblewrap --mechanism terminal
escape-matrix run --backends my-sandbox.toml -n 4 --out out
sudo escape-matrix run --user builder --label stock"""


def add(found: verbs.Verbs) -> None:
    """The verb's parser."""
    parser = verbs.parser(found, "run", act, what=WHAT, example=EXAMPLE)
    options.selection(parser)
    options.files(parser)
    options.leg(parser)
    group = parser.add_argument_group("how, and what to do with it")
    workers = min(2 * (os.cpu_count() or 1), 8)  # a worker waits for half of its time
    group.add_argument(
        "-n",
        dest="workers",
        type=options.positive,
        default=workers,
        metavar="N",
        help=f"worker processes (default: two for each processor, at most 8; here {workers})",
    )
    group.add_argument(
        "--out",
        type=Path,
        default=Path("out"),
        metavar="DIR",
        help="the folder that report.jsonl is written to (default: out)",
    )
    group.add_argument(
        "--expect",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="expectations of the gate, a TOML file; may be repeated (default: the vendors' claims alone)",
    )
    group.add_argument(
        "--strict", action="store_true", help="the gate wants every cell of every column tested"
    )
    group.add_argument(
        "--plan", action="store_true", help="say what would be planted and started, and start nothing"
    )
    group.add_argument(
        "--junitxml", type=Path, metavar="FILE", help="write a JUnit report of the cells as well"
    )


def act(args: argparse.Namespace) -> int:
    """Run the suite, which is pytest with our plugin."""
    asked = options.asked(args)
    selection = select(asked)
    if not selection.units:
        raise UsageError.one(
            f"no row of this selection is for {selection.platform} with these columns",
            "see: escape-matrix list cases, escape-matrix list backends",
        )
    if args.plan:
        preview(selection)
        return Code.CLEAN
    for file in args.expect:
        load_expectations(file)  # a mistake in it is told before anything runs
    # CI cancels with SIGTERM, and nothing may be left behind then either.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    code = pytest.main(pytest_arguments(asked, args), plugins=[Progress(sys.stderr)])
    if code == pytest.ExitCode.INTERRUPTED:
        return Code.INTERRUPTED
    return int(code)


def pytest_arguments(asked: Asked, args: argparse.Namespace) -> list[str]:
    """What a person would type after `pytest` for the same run."""
    table = (asked.table or locate.table()).resolve()
    # The user's own pytest configuration is about their tests, not about this run.
    found = [str(table), "-c", os.devnull, "--rootdir", str(table.parent), "--noconftest", "--escape-matrix"]
    found += ["-p", "matrix.plugin", "-p", "no:terminal", "-p", "no:cacheprovider"]
    found += ["-p", "no:tmpdir"]  # its folders in /tmp would outlive the run
    if find_spec("pytest_timeout"):
        found += ["-p", "no:timeout"]
    repeated = {
        "--em-case": asked.cases,
        "--em-mechanism": asked.mechanisms,
        "--em-backend": asked.backends,
        "--em-backends": [file.resolve() for file in asked.backend_files],
        "--em-expect": [file.resolve() for file in args.expect],
    }
    found += [f"{option}={value}" for option, values in repeated.items() for value in values]
    found += [f"--em-user={asked.user}", f"--em-label={asked.label}", f"--em-repeat={asked.repeat}"]
    found += [f"--em-out={args.out.resolve()}"]
    found += [f"--em-cases={table}"] if asked.table else []
    found += ["--em-strict"] if args.strict else []
    found += [f"--junitxml={args.junitxml.resolve()}"] if args.junitxml else []
    return [*found, "-n", str(args.workers)] if args.workers > 1 else found
