"""What the tests of the gate share: an entry of expectations in one line, and what is decided on a day."""

from __future__ import annotations

from datetime import date
from typing import Any

from matrix.errors import Code
from matrix.expectation import Expectation, Match
from matrix.gate import Decision, decide
from matrix.record import Report

TODAY = date(2026, 11, 30)


def entry(expect: Any, **more: Any) -> Expectation:
    facts: dict[str, Any] = {"id": "entry", "reason": "because", "owner": "us"}
    keys = {"case", "mechanism", "backend", "platform", "identity", "label"}
    match = Match(**{key: more.pop(key) for key in keys & more.keys()})
    return Expectation(match=match, expect=expect, **(facts | more))


def gate(found: Report, *entries: Expectation, **more: Any) -> Decision:
    return decide(found, entries, TODAY, **more)


def code(found: Report, *entries: Expectation, **more: Any) -> Code:
    return gate(found, *entries, **more).code
