"""What an attack's source says of itself, unexecuted: its function, its docstring, its steps. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

PYTHON = (3, 8)
"""The oldest Python that an attack has to run on, inside a sandbox."""


FILL_IN = "FILL IN"  # what a scaffold leaves where a person has to write


@dataclass(frozen=True, kw_only=True)
class Attack:
    """What one file of attacks/ says."""

    steps: frozenset[str] = frozenset()  # literal names
    patterns: tuple[re.Pattern[str], ...] = ()  # names put together from parts, as regular expressions
    words: frozenset[str] = frozenset()  # all texts of the file, if it also names steps by a variable
    problem: str = ""  # why it is no attack

    def names(self, step: str, args: Mapping[str, Any]) -> bool:
        """Whether the attack can name this step when it is told these arguments."""
        if step in self.steps or any(pattern.fullmatch(step) for pattern in self.patterns):
            return True
        return bool(self.words) and (step in self.words or step in args.values())


def read(source: str) -> Attack:
    """Read an attack's source."""
    try:
        tree = ast.parse(source, feature_version=PYTHON)
    except SyntaxError as error:
        return Attack(problem=f"line {error.lineno}: {error.msg} (as Python {PYTHON[0]}.{PYTHON[1]})")
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "attempt"]
    if not functions:
        return Attack(problem="it has no function attempt(target)")
    if not ast.get_docstring(tree):
        return Attack(problem="it has no docstring, which is published")
    if FILL_IN in source:
        return Attack(problem=f"a place marked {FILL_IN} is still there")
    named = [*_named(tree)]
    literal = [node.value for node in named if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    variable = any(not isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp) for node in named)
    return Attack(
        steps=frozenset(literal),
        patterns=tuple(_pattern(node) for node in named if isinstance(node, ast.JoinedStr | ast.BinOp)),
        words=frozenset(_texts(tree)) if variable else frozenset(),
        problem="" if named else "it names no step, so that no refusal in it can count",
    )


def _named(tree: ast.AST) -> Iterator[ast.expr]:
    """What is given to SOMETHING.step(…)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "step":
            yield from node.args[:1]


def _pattern(node: ast.expr) -> re.Pattern[str]:
    """An f-string, a sum or a % of texts: its literal parts, with anything between them."""
    return re.compile("".join(_parts(node)), re.DOTALL)


def _parts(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.JoinedStr(values=values):
            for value in values:
                yield from _parts(value)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from _parts(left)
            yield from _parts(right)
        case ast.BinOp(left=ast.Constant(value=str(text)), op=ast.Mod()):
            yield ".*".join(map(re.escape, re.split(r"%[a-z]", text)))
        case ast.Constant(value=str(text)):
            yield re.escape(text)
        case _:
            yield ".*"


def _texts(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
