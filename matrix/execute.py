"""Runs a unit: control launch, sandbox launch, control launch; judges its rows after the closing control."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import cast

from matrix import decide, world
from matrix.arm import Arm, Setting
from matrix.bracket import Judged, attempt, control, verdicts
from matrix.evidence import NotStarted, Silent, TimedOut
from matrix.model import Backend, Case, Cell, Escaped, Held, Leg, Reason, Untested, Verdict
from matrix.plan import DECISION, Unit
from matrix.smoke import smoke
from matrix.vigil import Vigil
from runners.contract import Decides, Missing, Runner

HOPELESS = 5  # rows about a proxy that are tried alone in vain, before the others are not tried again


def execute(
    unit: Unit, runner: Runner, setting: Setting, leg: Leg, *, repeat: int = 1
) -> tuple[list[Cell], Vigil]:
    """The cells of a unit, one for each of its rows, in their order; the vigil is the caller's to end."""
    begun = time.monotonic()
    vigil = Vigil(backend=unit.backend.id, leg=leg)
    judged: dict[str, Judged] = {}
    runnable: list[Case] = []
    for case in unit.cases:
        if excuse := _excuse(case, runner):
            judged[case.id] = Judged(verdict=excuse)
        else:
            runnable.append(case)
    if runnable:
        try:
            judged |= _run(unit, runnable, runner, setting, repeat, vigil)
        except BaseException:
            vigil.arms.close()
            raise
    seconds = (time.monotonic() - begun) / len(unit.cases)
    cells = [_cell(case, unit.backend, judged[case.id], leg, setting, seconds) for case in unit.cases]
    return cells, vigil


def _excuse(case: Case, runner: Runner) -> Untested | None:
    """Why a row is untested without a launch."""
    if lacking := case.channels - runner.channels:
        return Untested(
            reason=Reason.NO_CHANNEL, evidence=f"the runner carries no {', '.join(sorted(lacking))}"
        )
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
    unit: Unit, cases: Sequence[Case], runner: Runner, setting: Setting, repeat: int, vigil: Vigil
) -> Mapping[str, Judged]:
    found = runner.find(setting.identity)
    if isinstance(found, Missing):
        why = f"{found.what}; {found.fix}" if found.fix else found.what
        nothing = Judged(verdict=Untested(reason=Reason.NOT_INSTALLED, evidence=why))
        return dict.fromkeys((case.id for case in cases), nothing)
    if unit.key == DECISION:
        return {case.id: Judged(verdict=_decided(case, cast("Decides", runner))) for case in cases}
    if failure := smoke(unit.backend.id, runner, setting).failure:
        nothing = Judged(verdict=Untested(reason=Reason.NOT_STARTED, evidence=failure))
        return dict.fromkeys((case.id for case in cases), nothing)
    judged: dict[str, Judged] = {}
    for _ in range(repeat):
        once = _once(cases, runner, setting, vigil)
        judged = {
            case.id: worse(judged[case.id], once[case.id]) if judged else once[case.id] for case in cases
        }
    return judged


def _decided(case: Case, runner: Decides) -> Verdict:
    """A row that starts nothing: the question, and the harmless one beside it."""
    asked = case.plant
    try:
        answer, beside = (
            runner.decide(asked["question"], each["facts"]) for each in (asked, asked["beside"])
        )
    except KeyError as error:
        return Untested(reason=Reason.UNSUPPORTED, evidence=f"the runner knows no {error}")
    except Exception as error:  # noqa: BLE001 - whatever it is, it costs this row alone
        return Untested(reason=Reason.FAULT, evidence=f"the runner: {type(error).__name__}: {error}")
    return decide.judge(asked, answer, beside)


def _once(cases: Sequence[Case], runner: Runner, setting: Setting, vigil: Vigil) -> dict[str, Judged]:
    """One bracket for all rows; whatever it did not hold is tried again alone.

    The closing control of the first bracket opens the second.
    """
    with ExitStack() as controls:
        before = control(controls, cases, setting, "before")
        attempts = attempt(vigil.arms, [cases], runner, setting, before)
        after = control(controls, cases, setting, "after")
        judged = verdicts(cases, before, attempts, after)
        doubtful = [case for case in cases if _doubtful(case, judged[case.id])]
        if len(cases) > 1 and doubtful:
            alone: dict[str, Arm] = {}
            for case in doubtful:
                alone |= attempt(vigil.arms, [[case]], runner, setting, after)
                if case.proxied and _hopeless([*alone.items()][-HOPELESS:]):
                    break
            tried = [case for case in doubtful if case.id in alone]
            last = control(controls, tried, setting, "after")
            for case_id, second in verdicts(tried, after, alone, last).items():
                judged[case_id] = better_evidence(judged[case_id], second)
            attempts |= alone
    vigil.held += [(case, attempts[case.id]) for case in cases if isinstance(judged[case.id].verdict, Held)]
    return judged


def _hopeless(tries: Sequence[tuple[str, Arm]]) -> bool:
    """Whether so many rows in turn came to no answer at all: a dead proxy takes each row's whole time."""
    said = [arm.rows[case_id].attempted.said for case_id, arm in tries]
    return len(said) == HOPELESS and all(isinstance(word, TimedOut | Silent | NotStarted) for word in said)


def _doubtful(case: Case, judged: Judged) -> bool:
    """Whether a row of a batch is worth another try alone: all but the held, and what cannot be asked.

    Alone an escape is only told more precisely, and rows about a proxy have the stage for themselves anyway.
    """
    match judged.verdict:
        case Held() | Untested(reason=Reason.NOT_EXPRESSIBLE):
            return False
        case Escaped():
            return not case.proxied
        case _:
            return True


def better_evidence(batch: Judged, alone: Judged) -> Judged:
    """An escape that only the batch saw is an escape; whatever else, alone is the better evidence."""
    only_batch = isinstance(batch.verdict, Escaped) and not isinstance(alone.verdict, Escaped)
    return batch if only_batch else alone


def worse(one: Judged, other: Judged) -> Judged:
    """Of two repeats that disagree, the one that proves less safety."""
    order = (Held, Untested, Escaped)
    return max(one, other, key=lambda judged: order.index(type(judged.verdict)))


def _cell(case: Case, backend: Backend, judged: Judged, leg: Leg, setting: Setting, seconds: float) -> Cell:
    attempt = judged.attempt
    again = ["escape-matrix", "run", "--case", case.id, "--backend", backend.id]
    if not backend.built_in:
        again += ["--backends", backend.source.file]
    again += setting.options
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
