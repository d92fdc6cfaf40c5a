"""The controller's part of a run: takes cells in, writes the report, prints the matrix, asks the gate."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from matrix import gate
from matrix.errors import Code, Trouble
from matrix.load_expectations import load_expectations
from matrix.model import Cell
from matrix.record import Report
from matrix.report import jsonl, terminal
from matrix.report.jsonl import Writer
from matrix.report.lines import amend_from, cell_from
from matrix.session import Session, header

CELL = "escape-matrix"  # the user property that carries a cell from a worker
AMENDS = "escape_matrix_amends"  # the key of a worker's output that carries what came late
NAME = "report.jsonl"


def given(config: pytest.Config, name: str) -> Any:
    """The value of one of our options; all of them have defaults."""
    return config.getoption(f"--em-{name}")


class Reporter:
    """A plugin of its own, registered only where a run is in progress and this is no worker."""

    def __init__(self, config: pytest.Config, session: Session) -> None:
        self.config, self.session = config, session
        self.writer: Writer | None = None
        self.lost = False  # a worker died
        self.on_cell: Callable[[Cell], None] = lambda _: None
        self.on_plan: Callable[[int], None] = lambda _: None
        self.path = Path(given(config, "out") or session.run.directory) / NAME
        files = [Path(file) for file in given(config, "expect")]
        self.expectations = [entry for file in files for entry in load_expectations(file)]

    def _begin(self, names: Iterable[str]) -> None:
        """Write the header once it is known which cells are owed."""
        if self.writer is not None:
            return
        planned = [(backend, case) for case, backend, _ in (name.split("@") for name in names)]
        try:
            self.writer = Writer(self.path, header(self.session.selection, planned, self.session))
        except Trouble as trouble:
            print(trouble, file=sys.stderr)  # pytest's own words about it are not shown
            pytest.exit(str(trouble), returncode=trouble.code)
        self.on_plan(len(planned))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Without workers, the plan is what was collected here."""
        if not self.config.pluginmanager.hasplugin("dsession"):
            self._begin(item.name for item in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        """With workers, it is what the first of them collected."""
        del node
        self._begin(name.rpartition("::")[2] for name in ids)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the cell out of a report and write it at once; a fault of ours is said at once."""
        carried: list[Any] = [value for name, value in report.user_properties if name == CELL]
        cells = [cell_from(value) for value in carried]
        if report.failed and not cells:
            print(f"\n{report.nodeid}: {report.longreprtext}", file=sys.stderr)
        if report.when != "call" or self.writer is None:
            return
        for cell in cells:
            self.writer.cell(cell)
            self.on_cell(cell)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Take a worker's late canaries; of one that died nobody knows whether there were any."""
        del error
        output: dict[str, Any] = getattr(node, "workeroutput", {})
        self.lost = self.lost or AMENDS not in output
        if self.writer:
            for line in output.get(AMENDS, ()):
                self.writer.amend(amend_from(line))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Close the report, print it, and let the gate decide."""
        if self.writer is None:
            return
        try:
            self._finish(session, exitstatus)
        except Trouble as trouble:
            print(trouble, file=sys.stderr)
            session.exitstatus = trouble.code

    def _finish(self, session: pytest.Session, exitstatus: int) -> None:
        assert self.writer is not None  # noqa: S101 - the caller has asked
        for amend in self.session.amends:
            self.writer.amend(amend)
        stopped = self.lost or exitstatus in {pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR}
        trouble: Trouble | None = None
        try:
            self.writer.close() if stopped else self.writer.finish()
        except Trouble as error:
            trouble = error
        report = jsonl.read(self.writer.fallback or self.path)
        today = datetime.datetime.now(datetime.UTC).date()
        decision = gate.decide(report, self.expectations, today, strict=bool(given(self.config, "strict")))
        terminal.show(report, decision, sys.stdout)
        if given(self.config, "out") and trouble is None:
            print(f"\n{_near(self.path)} has {_how_many(report)} with its evidence.")
        if trouble is not None:
            raise trouble
        session.exitstatus = Code.INTERRUPTED if exitstatus == pytest.ExitCode.INTERRUPTED else decision.code


def _how_many(report: Report) -> str:
    owed = sum(len(column.cases) for column in report.header.columns)
    return "every cell" if report.complete else f"{len(report.cells)} of {owed} cells, each"


def _near(path: Path) -> Path:
    """The path as a person here would type it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
