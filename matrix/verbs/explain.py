"""`escape-matrix explain`: what a row does, why, and, with a column, each step of a real run of it."""

from __future__ import annotations

import argparse
import ast
import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

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


ONE_STEP = ("request", "expect", "never_dial", "steps")
"""The keys of a scene that are one moment of it, where it has only one."""


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
    lines = [
        f"{case.id}: {case.title}",
        f"{case.source}",
        "",
        f"mechanism  {mechanism.id}: {mechanism.title}. {mechanism.why}",
        *_what(case),
        f"platforms  {', '.join(case.platforms)}",
    ]
    if case.rules:
        lines.append(f"rules      {', '.join(case.rules)}; see: escape-matrix list rules")
    if case.channels:
        lines.append(f"channels   {', '.join(sorted(case.channels))}")
    if case.switches:
        lines.append(f"switches   {', '.join(case.switches)}")
    lines += [f"source     {source}" for source in case.sources]
    if case.subject == "decision":
        return "\n".join([*lines, ""])
    text = ast.get_docstring(ast.parse((locate.attacks() / f"{case.attack}.py").read_text())) or ""
    return "\n".join([*lines, "", textwrap.indent(text, "  "), ""])


def _what(case: Case) -> Iterator[str]:
    """What is planted, tried or asked, and what decides."""
    if case.subject == "decision":
        yield f"question   {case.plant['question']}, about {_written(case.plant['facts'])}"
        yield f"expected   {_written(case.plant['expect'])}; nothing is started"
        yield f"beside     {_written(case.plant['beside'])}"
        return
    yield f"attack     attacks/{case.attack}.py, told {_written(case.args)}"
    yield f"witness    matrix/witnesses/{case.witness}.py" + ("" if case.proxied else _planting(case))
    if case.proxied:
        yield from _staged(case.plant)
    yield f"decisive   {case.decisive}: a refusal before this step proves nothing"
    yield f"twin       {case.twin}"


def _planting(case: Case) -> str:
    return f", planting {_written(case.plant)} in {case.place}"


def _staged(plant: Mapping[str, Any]) -> Iterator[str]:
    """A scene, moment by moment."""
    rest = {key: value for key, value in plant.items() if key not in ONE_STEP}
    for key, value in rest.items():
        yield f"{key:<10} {_written(value)}"
    steps = plant.get("steps") or [{key: plant[key] for key in ONE_STEP if key in plant}]
    for number, step in enumerate(steps):
        yield f"step {number}     " + "; ".join(f"{key} {_written(value)}" for key, value in step.items())


def _written(value: Any) -> str:
    """As the row has it."""
    return json.dumps(value, ensure_ascii=True)


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
