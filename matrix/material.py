"""The files that everything starts from, read together, so that all their problems are told together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

from matrix import locate, steps
from matrix.coverage import Shipped, broken, column_gaps, gaps
from matrix.errors import DataError, Problem
from matrix.internet.addresses import symbols
from matrix.load import load_rules, load_table
from matrix.load_backends import load_backends
from matrix.model import Backend, Table

P = ParamSpec("P")
T = TypeVar("T")

SHARED = frozenset({"__init__", "launcher", "syscalls"})
"""Files of attacks/ that are no attack."""


@dataclass(frozen=True, kw_only=True)
class Material:
    """The table, and the columns: a person's own first, then the built-in ones that those leave."""

    table: Table
    backends: tuple[Backend, ...]


def read(table: Path | None, backends: Sequence[Path]) -> Material:
    """Read the table (None: the built-in one) and the columns. Raises DataError with all problems."""
    problems: list[Problem] = []
    found = _kept(problems, load_table, table or locate.table())
    own = [column for path in backends for column in _kept(problems, load_backends, path) or ()]
    taken = {column.id for column in own}
    built_in = _kept(problems, load_backends, locate.backends()) or ()
    columns = (*own, *(column for column in built_in if column.id not in taken))
    if problems or found is None:
        raise DataError(problems)
    ours = is_ours(table)
    # what our own columns claim is about our own rows, not about another table's
    about = [column for column in columns if ours or not column.built_in]
    problems += (*broken(found, shipped(complete=ours)), *column_gaps(found, about))
    if problems:
        raise DataError(problems)
    return Material(table=found, backends=columns)


def check(table: Path | None, backends: Sequence[Path]) -> Material:
    """The same, and everything that the table promises and does not keep. Raises DataError."""
    problems: list[Problem] = []
    material = _kept(problems, read, table, backends)
    whole = material.table if material else _kept([], load_table, table or locate.table())
    if whole:  # told beside what broke it, so that a person hears of everything at once
        problems += gaps(whole, shipped(complete=is_ours(table)))
    if problems or material is None:
        raise DataError(problems)
    return material


def is_ours(table: Path | None) -> bool:
    """Whether this is the built-in table."""
    return table is None or table.resolve() == locate.table().resolve()


def _kept(problems: list[Problem], load: Callable[P, T], *args: P.args, **named: P.kwargs) -> T | None:
    """What `load` gives; where it raises, its problems are kept and the reading goes on."""
    try:
        return load(*args, **named)
    except DataError as error:
        problems += error.problems
        return None


def shipped(*, complete: bool) -> Shipped:
    """The attacks and witnesses that there are."""
    attacks = {path.stem: path for path in sorted(locate.attacks().glob("*.py")) if path.stem not in SHARED}
    texts = {name: path.read_text(encoding="utf-8") for name, path in attacks.items()}
    witnesses = [path for path in locate.witnesses().glob("*.py") if _is_witness(path)]
    return Shipped(
        attacks={name: steps.read(text) for name, text in texts.items()},
        witnesses=frozenset(path.stem for path in witnesses),
        symbols=frozenset(symbols()),
        rules=load_rules(locate.rules()),
        complete=complete,
    )


def _is_witness(path: Path) -> bool:
    """Whether a file of matrix/witnesses/ is one, and not what several of them share."""
    return path.stem != "contract" and "\nclass Witness(" in path.read_text(encoding="utf-8")
