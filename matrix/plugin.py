"""The pytest plugin: one item per cell, inert unless --escape-matrix is given.

Nothing is started at collection. The first item of a unit runs the whole unit, and the others read
its cells, so a unit stays on one worker. Cells travel to the controller as user properties.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from matrix import locate, world
from matrix.errors import Trouble
from matrix.ledger import Run
from matrix.model import Case, Cell, Escaped, Held, Untested
from matrix.plan import Unit, cell_id
from matrix.report.lines import amend_line, cell_line
from matrix.reporter import AMENDS, CELL, Reporter, given
from matrix.selection import Asked, Selection, select
from matrix.session import Session
from matrix.sweep import adopt_orphans, raise_limit, reap, sweep, sweep_earlier
from matrix.visible import visible

SESSION = pytest.StashKey[Session]()


class EscapedError(Exception):
    """A row that its vendor claims to be held has escaped."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of a run; all of them do nothing without the first."""
    group = parser.getgroup("escape-matrix", "escape-matrix: every way out × every sandbox")
    group.addoption("--escape-matrix", action="store_true", help="collect the cells of the matrix")
    group.addoption(
        "--em-case", action="append", default=[], metavar="ID", help="only this row; may be repeated"
    )
    group.addoption(
        "--em-mechanism", action="append", default=[], metavar="ID", help="only rows of this mechanism"
    )
    group.addoption("--em-backend", action="append", default=[], metavar="ID", help="only this column")
    group.addoption(
        "--em-backends", action="append", default=[], metavar="FILE", help="columns of your own (TOML)"
    )
    group.addoption("--em-cases", default="", metavar="FILE", help="another table than the built-in one")
    group.addoption(
        "--em-user", default="", metavar="NAME", help="run control and sandbox as this account (root only)"
    )
    group.addoption(
        "--em-label", default="", metavar="TEXT", help="names this leg in the report: stock, fixed, arm64"
    )
    group.addoption(
        "--em-repeat", type=int, default=1, metavar="N", help="try each row N times; the worst counts"
    )
    group.addoption(
        "--em-out", default="", metavar="DIR", help="where report.jsonl goes; nowhere when not given"
    )
    group.addoption(
        "--em-expect", action="append", default=[], metavar="FILE", help="expectations of the gate (TOML)"
    )
    group.addoption("--em-strict", action="store_true", help="the gate wants every cell tested")


def asked(config: pytest.Config) -> Asked:
    """The options as they were given."""
    return Asked(
        cases=tuple(given(config, "case")),
        mechanisms=tuple(given(config, "mechanism")),
        backends=tuple(given(config, "backend")),
        backend_files=tuple(Path(each) for each in given(config, "backends")),
        table=Path(given(config, "cases")) if given(config, "cases") else None,
        user=given(config, "user"),
        label=given(config, "label"),
        repeat=given(config, "repeat"),
    )


def pytest_configure(config: pytest.Config) -> None:
    """Load the table, sweep what earlier runs left, enter the network world."""
    if not config.getoption("--escape-matrix"):
        return
    try:
        selection = select(asked(config))
    except Trouble as trouble:
        raise pytest.UsageError(str(trouble)) from trouble
    adopt_orphans()
    raise_limit()
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker is not None:
        config.stash[SESSION] = Session(selection=selection, run=Run(Path(worker["escape_matrix_run"])))
        return
    sweep_earlier()
    if os.geteuid() == 0:
        # Where there can be no world, rows that need it are untested and say why.
        with contextlib.suppress(world.WorldError):
            world.enter()
    run = Run.create(selection.identity)
    session = Session(selection=selection, run=run)
    config.stash[SESSION] = session
    try:
        reporter = Reporter(config, session)
    except Trouble as trouble:
        raise pytest.UsageError(str(trouble)) from trouble
    config.pluginmanager.register(reporter, "escape-matrix-reporter")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave nothing behind."""
    session = config.stash.get(SESSION, None)
    if session is None:
        return
    session.close()
    reap()
    if not hasattr(config, "workerinput"):
        for left in sweep(session.run):
            print(f"escape-matrix: {left}", file=sys.stderr)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """End the last vigils; a worker hands what came late to the controller."""
    run = session.config.stash.get(SESSION, None)
    if run is None:
        return
    run.settle()
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[AMENDS] = [amend_line(amend) for amend in run.amends]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell each xdist worker whose run it is part of."""
    session = node.config.stash.get(SESSION, None)
    if session is not None:
        node.workerinput["escape_matrix_run"] = str(session.run.directory)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The table is the test file."""
    session = parent.config.stash.get(SESSION, None)
    if session is None or file_path != _table(session.selection):
        return None
    return Matrix.from_parent(parent, path=file_path)  # pyright: ignore[reportUnknownMemberType]


def _table(selection: Selection) -> Path:
    return (selection.asked.table or locate.table()).resolve()


class Matrix(pytest.File):
    """The table as a collector of cells."""

    def collect(self) -> Iterator[pytest.Item]:
        """One item per cell, unit by unit. Starts nothing."""
        session = self.config.stash[SESSION]
        for unit in session.selection.units:
            for case in unit.cases:
                name = cell_id(case, unit.backend, session.selection.platform)
                yield CellItem.from_parent(  # pyright: ignore[reportUnknownMemberType]
                    self, name=name, unit=unit, case=case
                )


class CellItem(pytest.Item):
    """One cell."""

    def __init__(self, *, unit: Unit, case: Case, **kwargs: Any) -> None:
        super().__init__(**kwargs)  # pyright: ignore[reportUnknownMemberType]
        self.unit, self.case = unit, case

    def runtest(self) -> None:
        """Judge the cell, with its unit."""
        session = self.config.stash[SESSION]
        wanted = [
            item.case for item in self.session.items if isinstance(item, CellItem) and item.unit is self.unit
        ]
        cell = session.cell(self.unit, self.case, wanted)
        self.user_properties.append((CELL, cell_line(cell)))
        self._outcome(cell)

    def _outcome(self, cell: Cell) -> None:
        """Held passes, a claimed escape fails, an unclaimed one is shown, untested skips with its reason."""
        match cell.verdict:
            case Held():
                return
            case Escaped(evidence=evidence) if cell.claimed:
                raise EscapedError(visible(evidence))
            case Escaped(evidence=evidence):
                pytest.xfail(f"escaped, not claimed: {visible(evidence)}")
            case Untested(reason=reason, evidence=evidence):
                pytest.skip(f"untested: {reason}: {visible(evidence)}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """An escape in one line; anything else is a fault of ours and keeps its traceback."""
        if isinstance(excinfo.value, pytest.xfail.Exception):
            return str(excinfo.value)  # pytest would draw a traceback of our own code, at 0.1 s each
        if isinstance(excinfo.value, EscapedError):
            return f"{self.name} escaped: {excinfo.value}\n{self.case.title}\n{self.case.source}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The row's own line."""
        return self.path, max(self.case.source.line - 1, 0), self.name


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep a unit on one worker."""
    session = config.stash.get(SESSION, None)
    if session is None:
        return None
    # xdist is only needed where it runs, and has no types.
    from xdist.scheduler import LoadScopeScheduling  # noqa: PLC0415 # pyright: ignore[reportMissingTypeStubs]

    units = session.selection.units
    groups = {f"{case.id}@{unit.backend.id}": unit.name for unit in units for case in unit.cases}

    class ByUnit(LoadScopeScheduling):
        """A scope is a column and a unit's key."""

        def _split_scope(self, nodeid: str) -> str:
            cell, _, _ = nodeid.rpartition("::")[2].rpartition("@")
            return groups.get(cell, cell)

    return ByUnit(config, log)
