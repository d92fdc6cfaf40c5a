"""The verdict of a question: who answers all alike holds nothing, and who answers wrongly has escaped."""

from __future__ import annotations

from typing import Any

import pytest

from matrix.arm import Setting
from matrix.decide import Answer, allow_all, blind, fits, judge, refuse_all
from matrix.execute import execute
from matrix.ledger import Run
from matrix.model import Backend, Case, Escaped, Held, Leg, Reason, Untested
from matrix.plan import units
from matrix.proxied import plain
from matrix.sweep import sweep
from runners.contract import Channel, Identity
from runners.unconfined import Runner as Unconfined

ASKED: dict[str, Any] = {
    "question": "lint",
    "facts": {"manifest": ["10.0.0.1"], "tenant": []},
    "expect": {"ok": False, "faults": [{"list": "manifest", "entry": "10.0.0.1"}]},
    "beside": {"facts": {"manifest": ["api.test"], "tenant": ["10.0.0.1"]}, "expect": {"ok": True}},
}
FAULT = {"list": "manifest", "entry": "10.0.0.1", "why": "private"}
GOOD, FINE = {"ok": False, "faults": [FAULT]}, {"ok": True, "faults": []}


@pytest.mark.parametrize(
    ("expected", "answer", "whether"),
    [
        ({"ok": True}, {"ok": True, "more": 1}, True),
        ({"ok": True}, {"ok": 1}, False),
        ({"ok": True}, {}, False),
        ({"faults": []}, {"faults": [1]}, False),
        ({"faults": [{"a": 1}]}, {"faults": [{"a": 1, "b": 2}]}, True),
        ({"faults": [{"a": 1}]}, {"faults": [{"a": 1}, {"a": 1}]}, False),
        ({"lists": ["tenant", "manifest"]}, {"lists": ("tenant", "manifest")}, True),
        ({"lists": ["tenant", "manifest"]}, {"lists": ["manifest", "tenant"]}, False),
        ({"text": {"has": ["a"], "lacks": ["b"]}}, {"text": "xax"}, True),
        ({"text": {"has": ["a"], "lacks": ["b"]}}, {"text": "ab"}, False),
        ({"text": {"has": ["a"]}}, {"text": {"has": ["a"]}}, True),
    ],
)
def test_an_answer_has_what_is_expected(expected: Answer, answer: Answer, whether: bool) -> None:  # noqa: FBT001
    assert fits(expected, answer) is whether


def test_the_right_answers_hold() -> None:
    assert isinstance(judge(ASKED, GOOD, FINE), Held)


def test_a_rule_that_allows_all_has_escaped() -> None:
    answers = (allow_all("lint", each["facts"]) for each in (ASKED, ASKED["beside"]))
    assert isinstance(judge(ASKED, *answers), Escaped)


def test_a_rule_that_refuses_all_holds_nothing() -> None:
    answers = (refuse_all("lint", each["facts"]) for each in (ASKED, ASKED["beside"]))
    found = judge(ASKED, *answers)
    assert isinstance(found, Untested)
    assert found.reason is Reason.OVER_REFUSED


@pytest.mark.parametrize("question", ["lint", "learn", "show"])
def test_a_question_that_a_blind_rule_answers_tells_nobody_apart(question: str) -> None:
    facts = {"manifest": ["x"], "denials": [{"host": "x", "port": 1}], "denial": {"host": "x"}}
    answer = allow_all(question, facts)
    asked = {
        "question": question,
        "facts": facts,
        "expect": answer,
        "beside": {"facts": facts, "expect": answer},
    }
    assert "allow all" in blind(asked)
    found = judge(asked, answer, answer)
    assert isinstance(found, Untested)
    assert found.reason is Reason.CONTROL_FAILED
    assert blind(ASKED) == ""


class Deciding(Unconfined):
    """Answers as told; without a launch, which would fail."""

    def __init__(self, answers: list[Answer]) -> None:
        super().__init__({})
        self.answers = answers

    def start(self, launch: Any) -> Any:
        raise AssertionError("nothing is to be started")

    def decide(self, question: str, facts: Any) -> Any:
        if not self.answers:
            raise KeyError(question)
        answer = self.answers.pop(0)
        return 1 / answer if isinstance(answer, int) else answer


@pytest.mark.parametrize(
    ("answers", "verdict"),
    [
        ([GOOD, FINE], Held),
        ([FINE, FINE], Escaped),
        ([GOOD, GOOD], Untested),
        ([], Untested),
        ([0], Untested),  # a runner that breaks over the question
    ],
)
def test_a_decision_is_executed_without_a_launch(answers: list[Any], verdict: type) -> None:
    row = {"id": "lint", "title": "t", "mechanism": "egress", "platforms": ("linux",), "decide": ASKED}
    case = Case(**{**plain(row, ()), "channels": frozenset({Channel.DECISIONS})})
    box = Backend(id="box", title="box", runner="x", platforms=("linux",), options={}, claims=None)
    [unit] = units([case], [box], "linux")
    run = Run.create()
    try:
        leg = Leg(platform="linux", identity="user")
        cells, _ = execute(unit, Deciding([*answers]), Setting(run=run, identity=Identity.current()), leg)
        assert [type(cell.verdict) for cell in cells] == [verdict]
        lacking = Deciding([])
        lacking.channels = frozenset()
        [cell], _ = execute(unit, lacking, Setting(run=run, identity=Identity.current()), leg)
        assert isinstance(cell.verdict, Untested)
        assert cell.verdict.reason is Reason.NO_CHANNEL
    finally:
        assert sweep(run) == []
