"""From rows and columns to units: what shares a launch, and what is untested without one. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from matrix.model import Backend, Case

BATCH = "batch"
WORLD = "world"
EGRESS = "egress"
DIRECT = "direct"
DECISION = "decision"
MOST = 150  # rows about a proxy in one unit, so that several processes share them


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One column × rows that are launched and judged together."""

    backend: Backend
    key: str  # one of the words above (egress-2 for a part of many), or the one row's id
    cases: tuple[Case, ...]

    @property
    def needs_world(self) -> bool:
        """Whether its rows run only in a network namespace of the run's."""
        return any(case.world for case in self.cases)

    @property
    def own_world(self) -> bool:
        """Whether no other unit may share that: names and lists are staged in it, row by row."""
        return any(case.proxied or case.direct for case in self.cases)

    @property
    def name(self) -> str:
        """Names the unit among all of a run."""
        return f"{self.backend.id}/{self.key}"


def _key(case: Case) -> str:
    """Which unit of a column a row belongs to."""
    if case.subject == "decision":
        return DECISION
    if case.alone:
        return case.id
    if case.proxied:
        return EGRESS
    if case.direct:
        return DIRECT
    return WORLD if case.world else BATCH


def units(cases: Iterable[Case], backends: Iterable[Backend], platform: str) -> list[Unit]:
    """Every row of the platform × every column of it that is for such rows, in the order of the files."""
    rows = [case for case in cases if platform in case.platforms]
    found: list[Unit] = []
    for backend in backends:
        if platform not in backend.platforms:
            continue
        groups: dict[str, list[Case]] = {}
        for case in rows:
            if backend.only and backend.only not in case.channels:
                continue
            groups.setdefault(_key(case), []).append(case)
        parts = [part for name, group in groups.items() for part in _parts(name, group)]
        found += [Unit(backend=backend, key=name, cases=group) for name, group in parts]
    return found


def _parts(name: str, group: list[Case]) -> Iterator[tuple[str, tuple[Case, ...]]]:
    """A group as a unit; many rows about a proxy, which need nothing of each other, as several.

    Those that forbid come before those that allow: a dial that comes late then meets a row that does not
    allow it either, and is seen.
    """
    count = -(-len(group) // MOST) if name == EGRESS else 1
    if name == EGRESS:
        group = sorted(group, key=lambda case: case.allowed)
    if count == 1:
        yield name, tuple(group)
        return
    size = -(-len(group) // count)
    for number in range(count):
        yield f"{name}-{number + 1}", tuple(group[number * size : (number + 1) * size])


def cell_id(case: Case, backend: Backend, platform: str) -> str:
    """The name of a cell, everywhere: case@backend@platform."""
    return f"{case.id}@{backend.id}@{platform}"
