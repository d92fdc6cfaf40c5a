"""No proxy that is wrong in one way passes the rows: the proof that they are not blind.

Tier 1's own proxy holds every row that is named here. Each wrong one (matrix/tests/wrong) lets its rows
escape or refuses what is granted, and holds rows that its fault is not about: a dead one is not caught.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from matrix import locate, world
from matrix.load import load_table
from matrix.model import Held, Reason
from matrix.tests.samples import ESCAPED, HELD, untested
from matrix.tests.wrong.double import SAMPLE, Double
from matrix.tests.wrong.known import DOUBLES
from matrix.tests.wrong.trial import RIGHT, Verdicts, trial
from runners.contract import Identity, Missing
from runners.tier1.runner import Runner

REQUIRED = os.environ.get("ESCAPE_MATRIX_FACTS") == "required"
CASES = {case.id: case for case in load_table(locate.table()).cases}
AT_ONCE = 2
OVER = untested(Reason.OVER_REFUSED)


@pytest.fixture(scope="module")
def verdicts(request: pytest.FixtureRequest) -> Verdicts:
    """Of all proxies that these tests ask about, each row between two controls."""
    if why := _why_not():
        (pytest.fail if REQUIRED else pytest.skip)(why)
    asked = [item.callspec.params["name"] for item in request.session.items if _asks(item)]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    doubles = [DOUBLES[name] for name in dict.fromkeys(asked)]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    found: Verdicts = {RIGHT: {}}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for each in pool.map(_tried, [doubles[first::AT_ONCE] for first in range(AT_ONCE)]):
            found[RIGHT] |= each.pop(RIGHT)
            found |= each
    return found


def _tried(doubles: Sequence[Double]) -> Verdicts:
    rows = {double.name: double.rows for double in doubles}
    return trial({RIGHT: [*dict.fromkeys(row for each in rows.values() for row in each)], **rows})


def _asks(item: pytest.Item) -> bool:
    return item.name.startswith("test_a_wrong_proxy_is_caught[")


def _why_not() -> str:
    if isinstance(there := world.standing(), world.Impossible):
        return there.why
    found = Runner({"mode": "strict"}).find(Identity.current())
    if isinstance(found, Missing):
        return found.what
    return "" if shutil.which("curl") else "curl is missing, a client of some rows"


@pytest.mark.real
@pytest.mark.timeout(600)
@pytest.mark.skipif(sys.platform != "linux", reason="tier 1 and its world are Linux's")
class TestReal:
    def test_the_right_proxy_holds_every_row(self, verdicts: Verdicts) -> None:
        assert {row: each for row, each in verdicts[RIGHT].items() if not isinstance(each, Held)} == {}

    @pytest.mark.parametrize("name", DOUBLES)
    def test_a_wrong_proxy_is_caught(self, verdicts: Verdicts, name: str) -> None:
        assert [*DOUBLES[name].complaints(verdicts[name])] == []


@pytest.mark.parametrize("double", DOUBLES.values(), ids=lambda double: double.name)
def test_every_wrong_proxy_has_rows_that_tell_and_some_that_do_not(double: Double) -> None:
    assert double.does
    assert double.escaped or double.refused or double.failed
    assert CASES.keys() >= {*double.rows}
    assert {*double.touched} <= {*SAMPLE}
    assert {CASES[row].allowed for row in double.spared} == {True, False}
    assert all(CASES[row].allowed for row in (*double.refused, *double.failed))
    assert len(double.rows) == len(
        (*double.escaped, *double.refused, *double.failed, *double.touched, *double.spared)
    )


CAUGHT = Double(name="", does="", escaped=("one",), refused=("two",), failed=("three",), touched=(SAMPLE[2],))
VERDICTS = dict.fromkeys(SAMPLE, HELD) | {
    "one": ESCAPED,
    "two": OVER,
    "three": untested(Reason.FAULT),
    SAMPLE[2]: ESCAPED,
}


def test_one_that_is_caught_is_no_complaint() -> None:
    assert [*CAUGHT.complaints(VERDICTS)] == []


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ("one", HELD),  # the row is blind to it
        ("one", untested()),
        ("one", OVER),
        ("two", HELD),
        ("two", ESCAPED),
        ("two", untested()),
        ("three", HELD),
        ("three", OVER),
        ("three", untested()),
        (SAMPLE[0], OVER),  # it is dead
        (SAMPLE[0], ESCAPED),  # it is wrong in more ways than one
        (SAMPLE[2], HELD),  # and here in fewer
    ],
)
def test_one_that_is_not_caught_is_told(row: str, verdict: object) -> None:
    [told] = CAUGHT.complaints({**VERDICTS, row: verdict})  # pyright: ignore[reportArgumentType]
    assert f", {row}: " in told


def test_one_that_was_not_tried_is_told() -> None:
    assert len([*CAUGHT.complaints({})]) == len(replace(CAUGHT, touched=()).rows)
