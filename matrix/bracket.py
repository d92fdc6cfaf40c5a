"""The three arms of a bracket: control, attempt, control; and the verdicts between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from matrix import switches
from matrix.arm import Arm, Setting
from matrix.evidence import NotStarted, Observation, Seen
from matrix.model import Case, Verdict
from matrix.verdict import Bracket, judge
from runners.contract import Runner
from runners.unconfined import Runner as Unconfined

QUIET = 0.05  # seconds: the shortest quiet window after an attempt


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A verdict, and the attempt that it is about; without one, nothing was launched."""

    verdict: Verdict
    attempt: Observation | None = None


def control(stack: ExitStack, cases: Sequence[Case], setting: Setting, name: str) -> Arm:
    """All rows unconfined in one launch; each canary has its witness's patience to arrive."""
    arm = stack.enter_context(Arm(setting, Unconfined({}), name, cases))
    arm.plant()
    arm.launch()
    arm.watch({case.id: arm.rows[case.id].witness.patience for case in cases})
    return arm


def attempt(
    stack: ExitStack, groups: Iterable[Sequence[Case]], runner: Runner, setting: Setting, before: Arm
) -> dict[str, Arm]:
    """Each group in a launch of its own under the sandbox; gives every row's arm."""
    arms: dict[str, Arm] = {}
    for group in groups:
        arm = stack.enter_context(Arm(setting, runner, "attempt", group))
        arm.plant()
        arm.launch()
        arm.watch({case.id: quiet(before.observation(case)) for case in group})
        if group[0].subject == "launch" and isinstance(arm.rows[group[0].id].attempted.said, NotStarted):
            arm.benign = _starts(group[0], runner, setting)
        if len(group) == 1 and group[0].proxied:
            arm.end()  # or as many proxies as rows would be running by and by
        arms |= dict.fromkeys((case.id for case in group), arm)
    return arms


def quiet(opening: Observation) -> float:
    """The quiet window after an attempt (seconds): ten times the control canary's delay, at least 50 ms."""
    return max(QUIET, 10 * opening.sighting.latency) if isinstance(opening.sighting, Seen) else QUIET


def verdicts(
    cases: Sequence[Case], before: Arm, attempts: Mapping[str, Arm], after: Arm
) -> dict[str, Judged]:
    """Judge every row, after a last look for canaries that came late."""
    for arm in {id(arm): arm for arm in attempts.values()}.values():
        arm.settle()
    return {case.id: _judged(case, before, attempts[case.id], after) for case in cases}


def _judged(case: Case, before: Arm, arm: Arm, after: Arm) -> Judged:
    if skipped := arm.rows[case.id].skipped:
        return Judged(verdict=skipped)
    observation = arm.observation(case)
    three = Bracket(
        before=before.observation(case),
        attempt=observation,
        after=after.observation(case),
        switches=switches.explain(case.switches, arm.setting.facts),
    )
    return Judged(verdict=judge(case, three), attempt=observation)


def _starts(case: Case, runner: Runner, setting: Setting) -> bool:
    """The twin of a row about a launch: the same launch with nothing planted in its way must start."""
    with Arm(setting, runner, "benign", [case]) as arm:
        arm.plant()
        arm.launch()
        return arm.rows[case.id].attempted.alive
