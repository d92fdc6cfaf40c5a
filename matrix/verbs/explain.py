"""`escape-matrix explain`: what a row does, why, and, with a column, each step of a real run of it."""

from __future__ import annotations

import argparse
import ast
import textwrap

from matrix import locate, verbs
from matrix.errors import Code, UsageError
from matrix.model import Case, Cell, Mechanism, Untested
from matrix.selection import Selection, select
from matrix.solo import solo
from matrix.verbs import options
from matrix.visible import visible

WHAT = """\
Say what a row does, why, and where it comes from; then run it. Shows the attack's own text, what is
planted, which step decides; with --backend, runs control, sandbox and control, and shows each step, what
the witness saw, and the argv that was executed."""

EXAMPLE = """\
escape-matrix explain tty-tiocsti
escape-matrix explain tty-tiocsti --backend bubblewrap"""


def add(found: verbs.Verbs) -> None:
    """The verb's parser."""
    parser = verbs.parser(found, "explain", act, what=WHAT, example=EXAMPLE)
    parser.add_argument("case", metavar="CASE", help="a row's id; see: escape-matrix list cases")
    parser.add_argument(
        "--backend",
        dest="backends",
        action="append",
        default=[],
        metavar="ID",
        help="run the row under this column; may be repeated (default: only explain)",
    )
    options.files(parser)
    options.leg(parser)


def act(args: argparse.Namespace) -> int:
    """Explain, then run."""
    args.cases = [args.case]
    selection = select(options.asked(args))
    case = selection.cases[0]
    mechanism = next(each for each in selection.table.mechanisms if each.id == case.mechanism)
    print(describe(case, mechanism))
    if not args.backends:
        return Code.CLEAN
    if not selection.units:
        raise UsageError.one(
            f"{case.id} is for {', '.join(case.platforms)}, not for {selection.platform}",
            "choose a row of this platform: escape-matrix list cases",
        )
    cells = solo(selection)
    for cell in cells:
        print(shown(cell, selection))
    return Code.CLEAN if all(cell.word != "untested" for cell in cells) else Code.NOT_TESTED


def describe(case: Case, mechanism: Mechanism) -> str:
    """The row in words."""
    text = ast.get_docstring(ast.parse((locate.attacks() / f"{case.attack}.py").read_text())) or ""
    lines = [
        f"{case.id}: {case.title}",
        f"{case.source}",
        "",
        f"mechanism  {mechanism.id}: {mechanism.title}. {mechanism.why}",
        f"attack     attacks/{case.attack}.py, told {dict(case.args)}",
        f"witness    matrix/witnesses/{case.witness}.py, planting {dict(case.plant)} in {case.place}",
        f"decisive   {case.decisive}: a refusal before this step proves nothing",
        f"twin       {case.twin}",
        f"platforms  {', '.join(case.platforms)}",
    ]
    if case.channels:
        lines.append(f"channels   {', '.join(sorted(case.channels))}")
    if case.switches:
        lines.append(f"switches   {', '.join(case.switches)}")
    lines += [f"source     {source}" for source in case.sources]
    return "\n".join([*lines, "", textwrap.indent(text, "  "), ""])


def shown(cell: Cell, selection: Selection) -> str:
    """One run of it, step by step."""
    title = next(each.title for each in selection.backends if each.id == cell.backend)
    reason = f" ({cell.verdict.reason})" if isinstance(cell.verdict, Untested) else ""
    claimed = "claimed closed by its vendor" if cell.claimed else "not claimed"
    return "\n".join(
        [
            f"{cell.backend} ({title}), as {selection.identity.name}",
            f"  verdict   {cell.word}{reason}: {visible(cell.verdict.evidence)}",
            f"  claim     {claimed}",
            f"  steps     {' → '.join(visible(step) for step in cell.steps) or 'none'}",
            f"  executed  {' '.join(visible(word, 400) for word in cell.argv) or 'nothing'}",
            f"  repeat    {cell.repeat}",
            "",
        ]
    )
