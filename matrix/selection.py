"""From what was asked for to rows, columns and units: the one place that reads the options of a run."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from matrix.errors import Problem, UsageError
from matrix.material import read as material_of
from matrix.model import Backend, Case, Leg, Source, Table
from matrix.plan import Unit, units
from runners.contract import Identity


def platform() -> str:
    """This machine's platform, as rows and columns name it."""
    return {"darwin": "macos", "win32": "windows"}.get(sys.platform, "linux")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The options of a run, as they were given."""

    cases: tuple[str, ...] = ()
    mechanisms: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    backend_files: tuple[Path, ...] = ()
    table: Path | None = None
    user: str = ""
    label: str = ""
    repeat: int = 1


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What a run is about to do."""

    asked: Asked
    table: Table
    cases: tuple[Case, ...]
    backends: tuple[Backend, ...]
    named: frozenset[str]  # columns that were asked for by name, or by their own file
    units: tuple[Unit, ...]
    identity: Identity
    leg: Leg

    @property
    def platform(self) -> str:
        """The platform of every cell of this run."""
        return self.leg.platform


def select(asked: Asked) -> Selection:
    """Load and choose. Raises DataError for bad files, UsageError for names that nothing has."""
    material = material_of(asked.table, asked.backend_files)
    table, everything = material.table, material.backends
    own = [backend for backend in everything if not backend.built_in]
    here = platform()
    problems = [
        *_unknown("case", asked.cases, [case.id for case in table.cases]),
        *_unknown("mechanism", asked.mechanisms, [mechanism.id for mechanism in table.mechanisms]),
        *_unknown("backend", asked.backends, [backend.id for backend in everything]),
        *_elsewhere(asked.backends, everything, here),
    ]
    if problems:
        raise UsageError(problems)
    identity = _identity(asked.user)
    cases = [case for case in table.cases if _wanted(case, asked)]
    columns = _columns(asked, own, everything)
    found = tuple(units(cases, columns, here))
    kept = {unit.backend.id for unit in found}
    return Selection(
        asked=asked,
        table=table,
        cases=tuple(cases),
        backends=tuple(backend for backend in columns if backend.id in kept),
        named=frozenset({*asked.backends, *(backend.id for backend in own)}),
        units=found,
        identity=identity,
        leg=Leg(platform=here, identity="root" if identity.root else "user", label=asked.label),
    )


def _wanted(case: Case, asked: Asked) -> bool:
    if not asked.cases and not asked.mechanisms:
        return True
    return case.id in asked.cases or case.mechanism in asked.mechanisms


def _columns(asked: Asked, own: Sequence[Backend], everything: Sequence[Backend]) -> list[Backend]:
    """Those named; with a file of the user's and no name, the file's; else the default ones."""
    if asked.backends:
        return [backend for backend in everything if backend.id in asked.backends]
    return list(own) or [backend for backend in everything if backend.default]


def _identity(user: str) -> Identity:
    if not user:
        return Identity.current()
    try:
        identity = Identity.named(user)
    except KeyError:
        raise UsageError.one(
            f"there is no account {user!r} on this machine",
            f"make it first: useradd -m {user}",
            where="--user",
        ) from None
    if identity.uid != os.geteuid() and os.geteuid() != 0:
        raise UsageError.one(
            f"only root can run as {user!r}", "run with sudo, or log in as that account", where="--user"
        )
    return identity


def _elsewhere(asked: Iterable[str], known: Iterable[Backend], here: str) -> list[Problem]:
    """Columns that were named and cannot run on this platform: dropping them would hide that."""
    where = Source(file="--backend")
    return [
        Problem(
            kind="other-platform",
            where=where,
            what=f"{backend.id!r} is for {', '.join(backend.platforms)}, and this is {here}",
            do=f"run it there, or leave out --backend {backend.id}",
        )
        for backend in known
        if backend.id in asked and here not in backend.platforms
    ]


def _unknown(kind: str, asked: Iterable[str], known: Sequence[str]) -> list[Problem]:
    found: list[Problem] = []
    for name in asked:
        if name in known:
            continue
        near = difflib.get_close_matches(name, known, n=3)
        hint = f"did you mean {' or '.join(near)}" if near else f"see them with: escape-matrix list {kind}s"
        where = Source(file=f"--{kind}")
        found.append(
            Problem(kind=f"unknown-{kind}", where=where, what=f"there is no {kind} {name!r}", do=hint)
        )
    return found
