"""Every filesystem row gets out where nothing holds it, and its twin does too: one launch, no sandbox."""

from __future__ import annotations

import pytest

from matrix import locate, sweep
from matrix.arm import Arm, Setting
from matrix.evidence import Seen, TwinAnswer, Unplanted
from matrix.ledger import Run
from matrix.load import load_table
from runners.contract import Identity
from runners.unconfined import Runner

MECHANISMS = {"filesystem-read", "filesystem-write"}
CASES = [
    case
    for case in load_table(locate.testdata() / "egress-cases.json").cases
    if case.attack.startswith("path_") and "linux" in case.platforms
]


@pytest.fixture(scope="module")
def observed():
    """What every row comes to, unconfined; the rows that go alone have launches of their own."""
    setting = Setting(run=Run.create(), identity=Identity.current())
    found = {}
    try:
        groups = [[case for case in CASES if not case.alone], *([case] for case in CASES if case.alone)]
        for group in groups:
            with Arm(setting, Runner({}), "before", group) as arm:
                arm.plant()
                arm.launch()
                arm.watch(dict.fromkeys((case.id for case in group), 0.5))
                found |= {case.id: arm.observation(case) for case in group}
    finally:
        left = sweep.sweep(setting.run)
    assert left == []
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_row_gets_out_unconfined(case, observed):
    """A row that cannot be planted on this host says why; any other one is seen, and its twin answers."""
    observation = observed[case.id]
    if isinstance(observation.sighting, Unplanted):
        assert observation.sighting.why
        pytest.skip(observation.sighting.why)
    assert isinstance(observation.sighting, Seen), observation.attempted
    assert observation.twin is TwinAnswer.ANSWERED
    assert case.decisive in observation.attempted.steps


def test_the_rows_are_about_files():
    assert {case.mechanism for case in CASES} == MECHANISMS
    assert len(CASES) > 80
