"""The progress bar of a run, on standard error: cells done, and what they came to so far."""

from __future__ import annotations

from collections import Counter
from typing import TextIO

import pytest
import rich.progress
from rich.console import Console

from matrix.model import Cell
from matrix.reporter import Reporter


class Progress:
    """A pytest plugin that shows the reporter's cells as they come. Silent where nobody watches."""

    def __init__(self, stream: TextIO) -> None:
        console = Console(file=stream)
        self.counts: Counter[str] = Counter()
        self.bar = rich.progress.Progress(
            rich.progress.TextColumn("{task.description}"),
            rich.progress.BarColumn(),
            rich.progress.MofNCompleteColumn(),
            rich.progress.TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self.task = self.bar.add_task("planning", total=None)

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Hook into the reporter and show the bar."""
        reporter = session.config.pluginmanager.get_plugin("escape-matrix-reporter")
        if isinstance(reporter, Reporter):
            reporter.on_plan = self.plan
            reporter.on_cell = self.cell
            self.bar.start()

    def plan(self, cells: int) -> None:
        """So many cells are owed."""
        self.bar.update(self.task, total=cells, description="running")

    def cell(self, cell: Cell) -> None:
        """One more is there."""
        self.counts[cell.word] += 1
        said = " ".join(f"{self.counts[word]} {word}" for word in ("held", "escaped", "untested"))
        self.bar.update(self.task, advance=1, description=said)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Take the bar away before anything is printed."""
        self.bar.stop()
