"""What one process knows of a run: its selection, the cells of its units, and the report's header."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil

from matrix import host, locate, world
from matrix.arm import Setting
from matrix.digest import digest
from matrix.execute import execute
from matrix.ledger import Run
from matrix.load_backends import make_runner
from matrix.model import Case, Cell, Leg
from matrix.plan import Unit
from matrix.record import Amend, Column, Header
from matrix.selection import Selection
from matrix.version import VERSION
from matrix.vigil import Vigil
from runners.contract import Found, Identity, Runner


class UnitError(Exception):
    """The harness broke while it ran this unit."""


@dataclass
class Session:
    """A run as seen from one process."""

    selection: Selection
    run: Run
    runners: dict[str, Runner] = field(default_factory=dict[str, Runner])
    cells: dict[tuple[str, str], Cell] = field(default_factory=dict[tuple[str, str], Cell])
    vigils: list[Vigil] = field(default_factory=list[Vigil])
    amends: list[Amend] = field(default_factory=list[Amend])
    broken: dict[str, Exception] = field(default_factory=dict[str, Exception])  # by unit: faults of ours

    def setting(self) -> Setting:
        """What the arms of this run share."""
        asked, identity = self.selection.asked, self.selection.identity
        options = ("--user", identity.name) if asked.user else ()
        options += ("--cases", str(asked.table)) if asked.table else ()
        return Setting(run=self.run, identity=identity, facts=host.facts(identity), options=options)

    def runner(self, unit: Unit) -> Runner:
        """The column's runner, made once."""
        if unit.backend.id not in self.runners:
            self.runners[unit.backend.id] = make_runner(unit.backend)
        return self.runners[unit.backend.id]

    def cell(self, unit: Unit, case: Case, wanted: Iterable[Case]) -> Cell:
        """A cell; the first one asked for runs its unit for all the rows that are wanted of it.

        The rows of the unit before are watched until then.
        """
        key = (unit.backend.id, case.id)
        if key not in self.cells:
            ids = {each.id for each in wanted}
            chosen = replace(unit, cases=tuple(each for each in unit.cases if each.id in ids))
            for cell in self._guarded(chosen):
                self.cells[cell.backend, cell.case] = cell
        return self.cells[key]

    def _guarded(self, unit: Unit) -> Sequence[Cell]:
        """A fault of ours costs the unit its cells, which makes the report incomplete; once, not for each."""
        if unit.name in self.broken:
            raise UnitError(f"{unit.name} broke before: {self.broken[unit.name]}")
        try:
            return self._execute(unit)
        except Exception as error:
            self.broken[unit.name] = error
            raise

    def _execute(self, unit: Unit) -> Sequence[Cell]:
        leg, repeat = self.selection.leg, self.selection.asked.repeat
        if unit.needs_world and _elsewhere(unit):
            cells, late = world.call(
                execute_in_world, unit, self.setting(), leg, repeat, renumbered=os.geteuid() != 0
            )
            self.amends += late
            return cells
        cells, vigil = execute(unit, self.runner(unit), self.setting(), leg, repeat=repeat)
        self.settle()
        self.vigils.append(vigil)
        return cells

    def settle(self) -> None:
        """End what vigils there are."""
        while self.vigils:
            self.amends += self.vigils.pop().end()

    def close(self) -> None:
        """End what the runners started."""
        self.settle()
        for runner in self.runners.values():
            runner.close()


def _elsewhere(unit: Unit) -> bool:
    """Whether another process must enter a world for the unit: this one is in none, or in a shared one."""
    match world.standing():
        case world.Possible():
            return True
        case world.Inside():
            return unit.own_world
        case world.Impossible():
            return False


def execute_in_world(
    unit: Unit, setting: Setting, leg: Leg, repeat: int, *, renumbered: bool
) -> tuple[Sequence[Cell], Sequence[Amend]]:
    """A unit in a world that only this process entered; an account that is `renumbered` there is root."""
    me = psutil.Process()
    setting.run.record("pid", f"{me.pid} {me.create_time()}")  # it does not end with an interrupted run
    inside = replace(setting, identity=Identity.current()) if renumbered else setting
    runner = make_runner(unit.backend)
    try:
        cells, vigil = execute(unit, runner, inside, leg, repeat=repeat)
        return cells, vigil.end()
    finally:
        runner.close()


def header(selection: Selection, planned: Iterable[tuple[str, str]], session: Session) -> Header:
    """The report's first line: where, as whom, with what, and every cell (backend, case) that it owes."""
    owed: dict[str, list[str]] = {}
    for backend, case in planned:
        owed.setdefault(backend, []).append(case)
    columns: list[Column] = []
    for unit in {unit.backend.id: unit for unit in selection.units}.values():
        found = session.runner(unit).find(selection.identity)
        columns.append(
            Column(
                id=unit.backend.id,
                title=unit.backend.title,
                version=found.version if isinstance(found, Found) else "",
                missing="" if isinstance(found, Found) else found.what,
                named=unit.backend.id in selection.named,
                cases=tuple(owed.get(unit.backend.id, ())),
            )
        )
    files = [locate.backends(), *selection.asked.backend_files]
    table = selection.asked.table or locate.table()
    return Header(
        version=VERSION,
        leg=selection.leg,
        columns=tuple(columns),
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        host=host.facts(selection.identity),
        digests={
            "table": digest(sorted({table, *_sections(selection, table)})),
            "attacks": digest(sorted(locate.attacks().glob("*.py"))),
            "backends": digest(files),
        },
        mechanisms={mechanism.id: mechanism.title for mechanism in selection.table.mechanisms},
        titles={case.id: case.title for case in selection.cases},
    )


def _sections(selection: Selection, table: Path) -> set[Path]:
    """The files that the rows stand in."""
    names = {case.source.file for case in selection.table.cases}
    return {path for path in table.parent.rglob("*.json") if any(name.endswith(path.name) for name in names)}
