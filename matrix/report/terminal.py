"""The report as a person reads it: the matrix, what escaped, what is untested and why, the decision.

Drawn from report.jsonl alone. Every verdict has a symbol and its word, so that nothing depends on
colour, and everything that came out of a sandbox is written out before it is shown.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TextIO

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from matrix.gate import Decision
from matrix.model import Cell
from matrix.record import Report
from matrix.report import summary
from matrix.visible import visible

WIDTH = 100  # where there is no terminal to ask
PLACE = 13  # columns of "? 99 untested"
GAP = 2
MOST = 40  # cells that are shown one by one
KINDS = 4  # evidences that are shown of one reason
EVIDENCE = 400  # characters of what was seen
LINE = 2000  # characters of a line of ours

STYLES = {"held": "green", "escaped": "bold red", "untested": "yellow"}
SYMBOLS = {"held": "✓", "escaped": "✗", "untested": "?"}
ASCII_SYMBOLS = {"held": "+", "escaped": "x", "untested": "?"}


def show(report: Report, decision: Decision | None, stream: TextIO) -> None:
    """Print the report, and the gate's decision where there is one."""
    page = Page(console_for(stream, os.environ), report)
    for part in page.parts(decision):
        page.console.print(part)


def console_for(stream: TextIO, environ: Mapping[str, str]) -> Console:
    """A console for this stream: as wide as its terminal, coloured where one is wanted.

    A file, a pipe and a CI log are as wide as COLUMNS says, else 100, and without colour.
    """
    columns = environ.get("COLUMNS", "")
    width = None if stream.isatty() else int(columns) if columns.isdecimal() else WIDTH
    plain = bool(environ.get("NO_COLOR"))
    return Console(file=stream, width=width, no_color=plain, highlight=False, markup=False, emoji=False)


class Page:
    """One report on one console."""

    def __init__(self, console: Console, report: Report) -> None:
        self.console = console
        self.report = report
        self.ascii_only = console.options.ascii_only
        self.symbols = ASCII_SYMBOLS if self.ascii_only else SYMBOLS

    def parts(self, decision: Decision | None) -> Iterator[RenderableType]:
        """Everything, from the first line to the decision."""
        yield from self.heading()
        yield from self.matrix()
        yield from self.claimed_escapes()
        yield from self.other_escapes()
        yield from self.untested()
        yield from self.faults()
        if decision is not None:
            yield from self.decision(decision)

    def heading(self) -> Iterator[RenderableType]:
        """Where, as whom and with what."""
        header = self.report.header
        leg = " ".join(part for part in (header.leg.platform, header.leg.identity, header.leg.label) if part)
        facts = [f"escape-matrix {header.version}", leg, header.host.get("kernel", ""), header.started]
        yield self.text(", ".join(self.written(fact) for fact in facts if fact), "bold", written=True)
        versions: dict[str, list[str]] = {}
        for column in header.columns:
            if column.version:
                versions.setdefault(column.version, []).append(column.id)
        for version, columns in versions.items():
            yield self.line(f"{version}: {', '.join(columns)}")

    def matrix(self) -> Iterator[RenderableType]:
        """Mechanisms × backends in as many tables as the width asks for."""
        found = summary.matrix(self.report)
        longest = max((len(each) for each in [*found.mechanisms, "all"]), default=0)
        room = self.console.width - longest - GAP
        step = max(1, room // (PLACE + GAP))
        for begin in range(0, len(found.backends), step):
            yield self.text("")
            yield self.table(found, found.backends[begin : begin + step])
        if found.idle:
            yield self.text("")
        for backend, why in found.idle.items():
            cells = sum(found.totals.get(backend, {}).values())
            said = f"{backend}: {cells} untested: {why}" if cells else f"{backend}: {why}"
            yield self.text(f"{self.symbols['untested']} {said}", STYLES["untested"])

    def table(self, found: summary.Matrix, backends: Sequence[str]) -> Table:
        """The matrix of these backends, with a line of totals."""
        table = Table(box=box.SIMPLE_HEAD, padding=(0, GAP, 0, 0), pad_edge=False, show_edge=False)
        table.add_column("")
        for backend in backends:
            table.add_column(Text(_stacked(self.written(backend))), min_width=PLACE, overflow="fold")
        for mechanism in found.mechanisms:
            counts = [found.counts.get((mechanism, backend), {}) for backend in backends]
            table.add_row(self.written(mechanism), *(self.place(each) for each in counts))
        table.add_section()
        table.add_row("all", *(self.place(found.totals.get(backend, {})) for backend in backends))
        return table

    def place(self, counts: Mapping[str, int]) -> Text:
        """One place of the matrix: a line for each verdict that occurs, the worst first."""
        order = ("escaped", "held", "untested")
        lines = [(f"{self.symbols[word]} {counts[word]} {word}", word) for word in order if counts.get(word)]
        return Text("\n").join(Text(line, STYLES[word]) for line, word in lines)

    def claimed_escapes(self) -> Iterator[RenderableType]:
        """What escaped though the vendor says that it is held, cell by cell."""
        cells = summary.escapes(self.report, claimed=True)
        if not cells:
            return
        yield self.title(f"{self.symbols['escaped']} Escaped, though claimed: {len(cells)}", "escaped")
        for cell in cells[:MOST]:
            name = f"{cell.case}@{cell.backend}@{cell.leg.platform}"
            title = self.report.header.titles.get(cell.case, "")
            yield self.line(f"{name}  {title}" if title else name)
            yield self.line(visible(cell.verdict.evidence, EVIDENCE), indent=4, written=True)
            if cell.repeat:
                yield self.line(f"again: {cell.repeat}", indent=4)
        if len(cells) > MOST:
            yield self.line(f"and {len(cells) - MOST} more")

    def other_escapes(self) -> Iterator[RenderableType]:
        """What escaped and was never claimed, by backend and mechanism."""
        cells = summary.escapes(self.report, claimed=False)
        if not cells:
            return
        yield self.title(f"{self.symbols['escaped']} Escaped, not claimed: {len(cells)}", "escaped")
        for backend, mine in summary.grouped(cells, lambda cell: cell.backend).items():
            if len(mine) > MOST and len(mine) == summary.tested(self.report, backend):
                yield self.line(f"{backend}: {len(mine)}, all that was tested")
                continue
            yield self.line(f"{backend}: {len(mine)}")
            for mechanism, each in summary.grouped(mine, lambda cell: cell.mechanism).items():
                yield self.line(f"{mechanism}: {', '.join(cell.case for cell in each)}", indent=4)

    def untested(self) -> Iterator[RenderableType]:
        """What is untested and why, grouped by reason and by what was seen."""
        found = summary.untested(self.report)
        if not found:
            return
        total = sum(why.cells for why in found)
        yield self.title(f"{self.symbols['untested']} Untested: {total}", "untested")
        for why in found:
            yield self.line(f"{why.reason} ({summary.BLAME[why.reason.kind]}): {why.cells}")
            for evidence, cells in why.evidence[:KINDS]:
                yield self.line(f"{len(cells)} x {visible(evidence, EVIDENCE)}", indent=4, written=True)
                yield self.line(self.names(cells), indent=8)
            if rest := why.evidence[KINDS:]:
                number = sum(len(cells) for _, cells in rest)
                kinds = "kind" if len(rest) == 1 else "kinds"
                yield self.line(f"{number} x something else, {len(rest)} {kinds}", indent=4)

    def names(self, cells: Sequence[Cell]) -> str:
        """Which cells, in a line or two: by backend, a few of each."""
        groups = summary.grouped(cells, lambda cell: cell.backend)
        return "; ".join(
            f"{backend}: {_some([cell.case for cell in mine])}" for backend, mine in groups.items()
        )

    def faults(self) -> Iterator[RenderableType]:
        """Why the report is not complete."""
        if not self.report.complete:
            yield self.title("The report is not complete", "escaped")
            yield from (self.line(fault) for fault in self.report.faults)

    def decision(self, decision: Decision) -> Iterator[RenderableType]:
        """The gate's decision, at most ten lines."""
        first, *rest = decision.lines()
        yield self.text("")
        yield self.text(first, "bold red" if decision.code else "bold green", written=True)
        yield from (self.line(line, written=True) for line in rest)

    def title(self, text: str, word: str) -> RenderableType:
        """A heading with an empty line above it."""
        return Text("\n").append(text, STYLES[word])

    def line(self, text: str, *, indent: int = 2, written: bool = False) -> RenderableType:
        """An indented line, wrapped under its own beginning; `written` where it is visible already."""
        room = max(self.console.width - indent, PLACE)
        lines = self.text(text, written=written).wrap(self.console, room, overflow="fold")
        for each in lines:
            each.rstrip()
        return Text("\n").join(Text(" " * indent).append_text(each) for each in lines)

    def text(self, text: str, style: str = "", *, written: bool = False) -> Text:
        """A line of visible text; `written` where it is visible already."""
        shown = text if written else visible(text, LINE)
        return Text(self.fitting(shown), style, overflow="fold")

    def written(self, text: str) -> str:
        """A name as this console can show it."""
        return self.fitting(visible(text))

    def fitting(self, shown: str) -> str:
        """The same where only ASCII can be shown."""
        return shown.encode("ascii", "backslashreplace").decode() if self.ascii_only else shown


def _stacked(name: str) -> str:
    """A long name on several lines, broken behind its hyphens."""
    lines = [""]
    for part in name.replace("-", "-\n").split("\n"):
        if lines[-1] and len(lines[-1]) + len(part) > PLACE:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _some(names: Iterable[str], most: int = 4) -> str:
    found = list(names)
    left = len(found) - most
    return ", ".join(found[:most]) + (f" and {left} more" if left > 0 else "")
