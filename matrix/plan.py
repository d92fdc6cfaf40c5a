"""From rows and columns to units: what shares a launch, and what is untested without one. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from matrix.model import Backend, Case

BATCH = "batch"
WORLD = "world"


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One column × rows that are launched and judged together."""

    backend: Backend
    key: str  # "batch", "world", or the one row's id
    cases: tuple[Case, ...]

    @property
    def name(self) -> str:
        """Names the unit among all of a run."""
        return f"{self.backend.id}/{self.key}"


def key(case: Case) -> str:
    """Which unit of a column a row belongs to."""
    if case.alone:
        return case.id
    return WORLD if case.world else BATCH


def units(cases: Iterable[Case], backends: Iterable[Backend], platform: str) -> list[Unit]:
    """Every row of the platform × every column of it, in the order of the files."""
    rows = [case for case in cases if platform in case.platforms]
    found: list[Unit] = []
    for backend in backends:
        if platform not in backend.platforms:
            continue
        groups: dict[str, list[Case]] = {}
        for case in rows:
            groups.setdefault(key(case), []).append(case)
        found += [Unit(backend=backend, key=name, cases=tuple(group)) for name, group in groups.items()]
    return found


def cell_id(case: Case, backend: Backend, platform: str) -> str:
    """The name of a cell, everywhere: case@backend@platform."""
    return f"{case.id}@{backend.id}@{platform}"
