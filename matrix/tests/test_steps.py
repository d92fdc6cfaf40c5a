"""Which steps an attack names, read from its source."""

from __future__ import annotations

import pytest

from matrix.steps import read

HEAD = '"""Says what it does."""\n\n\ndef attempt(target):\n    '


@pytest.mark.parametrize(
    ("body", "step", "named"),
    [
        ('target.step("open")', "open", True),
        ('target.step("open")', "read", False),
        ('target.step(f"open {target.path}")', "open /x", True),
        ('target.step(f"open {target.path}")', "read /x", False),
        ('target.step("open " + name)', "open x", True),
        ('target.step("open %s" % name)', "open x", True),
        ('target.step("open %s" % name)', "close x", False),
        ('target.step("a.c" + name)', "abc", False),
        ('for name in ("open", "read"):\n        target.step(name)', "read", True),
        ('for name in ("open", "read"):\n        target.step(name)', "write", False),
        ("target.step(target.act)", "chmod", True),
        ("target.step(target.act)", "chown", False),
    ],
)
def test_steps(body: str, step: str, *, named: bool) -> None:
    attack = read(HEAD + body)
    assert attack.problem == ""
    assert attack.names(step, {"act": "chmod"}) is named


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("def attempt(target):\n    target.step('x')", "docstring"),
        ('"""Doc."""', "no function attempt"),
        (HEAD + "pass", "names no step"),
        (HEAD + "match target:\n        case 1: target.step('x')", "as Python 3.8"),
        ("def", "line 1"),
    ],
)
def test_what_is_no_attack(source: str, problem: str) -> None:
    assert problem in read(source).problem
