"""Tries wrong proxies in a world: two controls for all of them, one launch for each between.

The arms, the witnesses and the verdict are the harness' own (matrix.bracket, matrix.verdict); a column
for each proxy would run the same controls for every one.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from matrix import bracket, host, locate, world
from matrix.arm import Arm, Setting
from matrix.evidence import Observation
from matrix.ledger import Run
from matrix.load import load_table
from matrix.model import Case, Verdict
from matrix.sweep import raise_limit, sweep
from matrix.tests.wrong.known import DOUBLES
from matrix.verdict import Bracket, judge
from runners.contract import Identity
from runners.tier1.inside import PORT
from runners.tier1.runner import Runner

RIGHT = ""
"""The name of tier 1's own proxy."""

Rows = Mapping[str, Sequence[str]]
"""By the proxy's name: the rows that it is tried with."""
Verdicts = dict[str, dict[str, Verdict]]
"""By the proxy's name, and the row's."""


def trial(rows: Rows) -> Verdicts:
    """Every proxy's verdicts, found in a world of its own."""
    run = Run.create()
    try:
        return world.call(_trial, rows, run)
    finally:
        sweep(run)


def _trial(rows: Rows, run: Run) -> Verdicts:
    raise_limit()
    table = {case.id: case for case in load_table(locate.table()).cases}
    identity = Identity.current()
    setting = Setting(run=run, identity=identity, facts=host.facts(identity))
    found: Verdicts = {name: {} for name in rows}
    for around in (True, False):  # what goes around the proxy has a launch of its own
        asked = {name: [table[row] for row in each] for name, each in rows.items()}
        cases = {name: [case for case in each if case.direct is around] for name, each in asked.items()}
        for name, verdicts in _between(cases, setting).items():
            found[name] |= verdicts
    return found


def _between(cases: Mapping[str, Sequence[Case]], setting: Setting) -> Verdicts:
    """The verdicts on rows that may share a launch."""
    union = [*{case.id: case for each in cases.values() for case in each}.values()]
    if not union:
        return {}
    with ExitStack() as controls:
        with socket.create_server(("127.0.0.1", PORT)):  # a control's proxy would take it from `host-net`
            before = bracket.control(controls, union, setting, "before")
        seen = {name: _attempt(name, each, setting, before) for name, each in cases.items() if each}
        after = bracket.control(controls, union, setting, "after")

        def verdict(case: Case, attempt: Observation) -> Verdict:
            opening, closing = before.observation(case), after.observation(case)
            return judge(case, Bracket(before=opening, attempt=attempt, after=closing))

        return {
            name: {case.id: verdict(case, each[case.id]) for case in cases[name]}
            for name, each in seen.items()
        }


def _attempt(name: str, cases: Sequence[Case], setting: Setting, before: Arm) -> dict[str, Observation]:
    """What one proxy came to, looked at for the last time before the next one begins."""
    flags = DOUBLES[name].flags if name != RIGHT else ()
    runner = Runner({"mode": "strict", "flags": flags})
    if name != RIGHT:
        runner.proxy = (sys.executable, "-m", "matrix.tests.wrong", name)
    with ExitStack() as stack:
        arms = bracket.attempt(stack, [cases], runner, setting, before)
        for arm in {id(arm): arm for arm in arms.values()}.values():
            arm.settle()
        return {case.id: arms[case.id].observation(case) for case in cases}
