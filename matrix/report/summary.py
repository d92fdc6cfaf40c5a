"""What every rendering says, grouped and ordered, before it is drawn. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from matrix.model import Cell, Reason, Untested
from matrix.record import Column, Report, count

K = TypeVar("K")

BLAME = {
    "fault": "something broke",
    "host": "this machine cannot",
    "structural": "this sandbox or platform cannot",
}
"""What the kinds of reasons mean, the weightiest first."""


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """Mechanisms × backends, and how many cells of each came to what."""

    mechanisms: tuple[str, ...]
    backends: tuple[str, ...]  # with at least one cell that was tested, or untested for several reasons
    counts: Mapping[tuple[str, str], Mapping[str, int]]  # by mechanism and backend
    totals: Mapping[str, Mapping[str, int]]  # by backend
    idle: Mapping[str, str]  # backend → why not one of its cells was tested, said once


@dataclass(frozen=True, kw_only=True)
class Why:
    """One reason for untested, and the cells of each evidence, the commonest first."""

    reason: Reason
    cells: int
    evidence: tuple[tuple[str, tuple[Cell, ...]], ...]


def matrix(report: Report) -> Matrix:
    """The counts of the report's matrix, in the order of the table and of the backends file."""
    by_place = grouped(report.cells, lambda cell: (cell.mechanism, cell.backend))
    by_backend = grouped(report.cells, lambda cell: cell.backend)
    found = dict.fromkeys(cell.mechanism for cell in report.cells)
    order = [*(each for each in report.header.mechanisms if each in found)]
    idle = {
        column.id: why
        for column in report.header.columns
        if (why := _idle(column, by_backend.get(column.id, [])))
    }
    return Matrix(
        mechanisms=tuple(order + [each for each in found if each not in order]),
        backends=tuple(column.id for column in report.header.columns if column.id not in idle),
        counts={place: count(cells) for place, cells in by_place.items()},
        totals={backend: count(cells) for backend, cells in by_backend.items()},
        idle=idle,
    )


def _idle(column: Column, cells: list[Cell]) -> str:
    """Why a column is no column of the matrix; empty where it is one."""
    reasons = {cell.verdict.reason: cell for cell in cells if isinstance(cell.verdict, Untested)}
    if any(cell.word != "untested" for cell in cells):
        return ""
    if not cells:
        return "no cell in the report" if column.cases else "no cell was planned"
    if Reason.NOT_INSTALLED in reasons:
        return f"not installed: {column.missing or reasons[Reason.NOT_INSTALLED].verdict.evidence}"
    if len(reasons) > 1:
        return ""
    [(reason, cell)] = reasons.items()
    return f"{reason}: {cell.verdict.evidence}"


def escapes(report: Report, *, claimed: bool) -> list[Cell]:
    """The cells that escaped and were claimed held, or that nobody claimed."""
    return [cell for cell in report.cells if cell.word == "escaped" and cell.claimed is claimed]


def tested(report: Report, backend: str) -> int:
    """How many cells of a column are held or have escaped."""
    return sum(cell.backend == backend and cell.word != "untested" for cell in report.cells)


def untested(report: Report) -> list[Why]:
    """Why cells are untested: faults first, then this machine's doing, then what cannot be carried."""
    found: dict[Reason, list[Cell]] = {}
    for cell in report.cells:
        if isinstance(cell.verdict, Untested):
            found.setdefault(cell.verdict.reason, []).append(cell)
    kinds = list(BLAME)
    order = sorted(found.items(), key=lambda item: (kinds.index(item[0].kind), -len(item[1])))
    return [Why(reason=reason, cells=len(cells), evidence=_by_evidence(cells)) for reason, cells in order]


def _by_evidence(cells: Iterable[Cell]) -> tuple[tuple[str, tuple[Cell, ...]], ...]:
    groups = grouped(cells, lambda cell: cell.verdict.evidence)
    return tuple((text, tuple(mine)) for text, mine in sorted(groups.items(), key=lambda item: -len(item[1])))


def grouped(cells: Iterable[Cell], by: Callable[[Cell], K]) -> dict[K, list[Cell]]:
    """The cells by something about them, in the order of their first."""
    groups: dict[K, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(by(cell), []).append(cell)
    return groups
