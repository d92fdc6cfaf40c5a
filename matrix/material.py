"""The files that everything starts from, read together, so that all their problems are told together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matrix import locate, steps
from matrix.coverage import Shipped, column_gaps, gaps
from matrix.errors import DataError, Problem
from matrix.load import load_backends, load_table
from matrix.model import Backend, Table

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
    found: Table | None = None
    try:
        found = load_table(table or locate.table())
    except DataError as error:
        problems += error.problems
    own: list[Backend] = []
    for path in (*backends, locate.backends()):
        try:
            taken = {backend.id for backend in own} if path == locate.backends() else set[str]()
            own += (backend for backend in load_backends(path) if backend.id not in taken)
        except DataError as error:
            problems += error.problems
    if problems or found is None:
        raise DataError(problems)
    return Material(table=found, backends=tuple(own))


def check(table: Path | None, backends: Sequence[Path]) -> Material:
    """The same, and everything that the table promises and does not keep. Raises DataError."""
    material = read(table, backends)
    ours = table is None or table.resolve() == locate.table().resolve()
    # what our own columns claim is about our own rows, not about another table's
    columns = [backend for backend in material.backends if ours or not backend.built_in]
    problems = (*gaps(material.table, shipped(complete=ours)), *column_gaps(material.table, columns))
    if problems:
        raise DataError(problems)
    return material


def shipped(*, complete: bool) -> Shipped:
    """The attacks and witnesses that there are."""
    attacks = {path.stem: path for path in sorted(locate.attacks().glob("*.py")) if path.stem not in SHARED}
    texts = {name: path.read_text(encoding="utf-8") for name, path in attacks.items()}
    witnesses = [path for path in locate.witnesses().glob("*.py") if _is_witness(path)]
    return Shipped(
        attacks={name: steps.read(text) for name, text in texts.items()},
        witnesses=frozenset(path.stem for path in witnesses),
        complete=complete,
    )


def _is_witness(path: Path) -> bool:
    """Whether a file of matrix/witnesses/ is one, and not what several of them share."""
    return path.stem != "contract" and "\nclass Witness(" in path.read_text(encoding="utf-8")
