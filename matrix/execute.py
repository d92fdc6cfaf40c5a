"""Runs a unit: control launch, sandbox launch, control launch; judges its rows after the closing control."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from matrix import switches, world
from matrix.arm import Arm, Setting
from matrix.model import (
    Backend,
    Case,
    Cell,
    Escaped,
    Held,
    Leg,
    Observation,
    Reason,
    Seen,
    Untested,
    Verdict,
)
from matrix.plan import Unit
from matrix.smoke import smoke
from matrix.verdict import Bracket, judge
from runners.contract import Missing, Runner
from runners.unconfined import Runner as Unconfined

QUIET = 0.05  # seconds: the shortest quiet window after an attempt


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A verdict, and the attempt that it is about."""

    verdict: Verdict
    attempt: Observation | None = None


def execute(unit: Unit, runner: Runner, setting: Setting, leg: Leg, *, repeat: int = 1) -> list[Cell]:
    """The cells of a unit, one for each of its rows, in their order."""
    begun = time.monotonic()
    judged: dict[str, Judged] = {}
    runnable: list[Case] = []
    for case in unit.cases:
        if excuse := _excuse(case, runner):
            judged[case.id] = Judged(verdict=excuse)
        else:
            runnable.append(case)
    if runnable:
        judged |= _run(unit, runnable, runner, setting, repeat)
    seconds = (time.monotonic() - begun) / len(unit.cases)
    return [_cell(case, unit.backend, judged[case.id], leg, setting, seconds) for case in unit.cases]


def _excuse(case: Case, runner: Runner) -> Untested | None:
    """Why a row is untested without a launch."""
    if lacking := case.channels - runner.channels:
        return Untested(reason=Reason.NO_CHANNEL, evidence=f"the runner carries no {', '.join(sorted(lacking))}")
    if case.world and (why := _no_world()):
        return Untested(reason=Reason.NO_WORLD, evidence=why)
    return None


def _no_world() -> str:
    """Why rows that need addresses of ours may not run here; empty in a world that leads nowhere."""
    match world.standing():
        case world.Inside():
            return ""
        case world.Possible():
            return "this process is outside the network world"
        case world.Impossible(why=why):
            return why


def _run(
    unit: Unit, cases: Sequence[Case], runner: Runner, setting: Setting, repeat: int
) -> Mapping[str, Judged]:
    found = runner.find(setting.identity)
    if isinstance(found, Missing):
        why = f"{found.what}; {found.fix}" if found.fix else found.what
        nothing = Judged(verdict=Untested(reason=Reason.NOT_INSTALLED, evidence=why))
        return dict.fromkeys((case.id for case in cases), nothing)
    if failure := smoke(unit.backend.id, runner, setting).failure:
        nothing = Judged(verdict=Untested(reason=Reason.NOT_STARTED, evidence=failure))
        return dict.fromkeys((case.id for case in cases), nothing)
    judged: dict[str, Judged] = {}
    for _ in range(repeat):
        once = _once(cases, runner, setting)
        judged = {case.id: worse(judged[case.id], once[case.id]) if judged else once[case.id] for case in cases}
    return judged


def _once(cases: Sequence[Case], runner: Runner, setting: Setting) -> dict[str, Judged]:
    """One bracket for all rows; whatever it did not hold is tried again alone."""
    judged = bracket(cases, runner, setting, together=True)
    if len(cases) == 1:
        return judged
    doubtful = [case for case in cases if not isinstance(judged[case.id].verdict, Held)]
    again = bracket(doubtful, runner, setting, together=False) if doubtful else {}
    for case in doubtful:
        first, second = judged[case.id], again[case.id]
        # An escape that only the batch saw is an escape; whatever else, alone is the better evidence.
        only_first = isinstance(first.verdict, Escaped) and not isinstance(second.verdict, Escaped)
        judged[case.id] = first if only_first else second
    return judged


def worse(one: Judged, other: Judged) -> Judged:
    """Of two repeats that disagree, the one that proves less safety."""
    order = (Held, Untested, Escaped)
    return max(one, other, key=lambda judged: order.index(type(judged.verdict)))


def bracket(
    cases: Sequence[Case], runner: Runner, setting: Setting, *, together: bool
) -> dict[str, Judged]:
    """Control, attempt, control. `together` puts all rows into one launch, else each has its own."""
    control = Unconfined({})
    with ExitStack() as stack:
        before = stack.enter_context(Arm(setting, control, "before", cases))
        _control(before, cases)
        attempts: dict[str, Arm] = {}
        for group in [list(cases)] if together else [[case] for case in cases]:
            arm = stack.enter_context(Arm(setting, runner, "attempt", group))
            arm.plant()
            arm.launch()
            arm.watch({case.id: _quiet(before.observation(case)) for case in group})
            attempts |= dict.fromkeys((case.id for case in group), arm)
            if group[0].subject == "launch":
                arm.benign = _starts(group[0], runner, setting)
        after = stack.enter_context(Arm(setting, control, "after", cases))
        _control(after, cases)
        for arm in {id(arm): arm for arm in attempts.values()}.values():
            arm.settle()
        return {case.id: _judged(case, before, attempts[case.id], after, setting) for case in cases}


def _starts(case: Case, runner: Runner, setting: Setting) -> bool:
    """The twin of a row about a launch: the same launch with nothing planted in its way must start."""
    with Arm(setting, runner, "benign", [case]) as arm:
        arm.plant()
        arm.launch()
        return arm.rows[case.id].attempted.alive


def _control(arm: Arm, cases: Sequence[Case]) -> None:
    arm.plant()
    arm.launch()
    arm.watch({case.id: arm.rows[case.id].witness.patience for case in cases})


def _quiet(control: Observation) -> float:
    """The quiet window after an attempt: ten times what the control's canary took, at least 50 ms."""
    return max(QUIET, 10 * control.sighting.latency) if isinstance(control.sighting, Seen) else QUIET


def _judged(case: Case, before: Arm, attempt: Arm, after: Arm, setting: Setting) -> Judged:
    if skipped := attempt.rows[case.id].skipped:
        return Judged(verdict=skipped)
    observation = attempt.observation(case)
    why = switches.explain(case.switches, setting.facts)
    three = Bracket(
        before=before.observation(case),
        attempt=observation,
        after=after.observation(case),
        switches=why,
    )
    return Judged(verdict=judge(case, three), attempt=observation)


def _cell(case: Case, backend: Backend, judged: Judged, leg: Leg, setting: Setting, seconds: float) -> Cell:
    attempt = judged.attempt
    again = ["escape-matrix", "run", "--case", case.id, "--backend", backend.id]
    if not backend.built_in:
        again += ["--backends", backend.source.file]
    if setting.named:
        again += ["--user", setting.identity.name]
    return Cell(
        case=case.id,
        mechanism=case.mechanism,
        backend=backend.id,
        leg=leg,
        verdict=judged.verdict,
        claimed=backend.claimed(case),
        argv=attempt.argv if attempt else (),
        repeat=shlex.join(again),
        seconds=round(attempt.attempted.seconds if attempt else seconds, 4),
        steps=attempt.attempted.steps if attempt else (),
        source=case.source,
    )
