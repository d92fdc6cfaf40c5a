"""report.jsonl, the one native format: a header, a line per cell, amendments, a footer.

Written line by line and unbuffered, so that a run which dies leaves all that it measured. Digests
stop accidents; whoever can edit the file can also compute them again.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from matrix.errors import Problem, ReportError, WriteError
from matrix.model import Cell, Source
from matrix.record import Amend, Footer, Header, Report, amended, assemble, count
from matrix.report.lines import (
    FORMAT,
    Damaged,
    Line,
    amend_from,
    amend_line,
    cell_from,
    cell_line,
    footer_from,
    footer_line,
    header_from,
    header_line,
)
from matrix.visible import visible


class Writer:
    """Writes one report. Raises WriteError at once where not even the header can be written.

    A disk that fills later does not end the run: everything is kept in memory, goes to a file in
    the temporary directory from then on, and `finish` (or `check`) raises WriteError naming it.
    """

    def __init__(self, path: Path, header: Header) -> None:
        self.path = path
        self.header = header
        self.kept: list[bytes] = []  # every line so far
        self.fallback: Path | None = None
        self.trouble = ""
        self._cells: list[Cell] = []
        self._amends: list[Amend] = []
        self._file: int | None = None
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, flags, 0o644)
            self.kept.append(_encoded(header_line(header)))
            _write(self._file, self.kept[0])
        except OSError as error:
            self.close()
            raise self._error(_why(error)) from error

    def cell(self, cell: Cell) -> None:
        """Write one cell."""
        self._cells.append(cell)
        self._line(cell_line(cell))

    def amend(self, amend: Amend) -> None:
        """Write that a canary came late; after its cell and before the footer."""
        self._amends.append(amend)
        self._line(amend_line(amend))

    def finish(self) -> None:
        """Write the footer and close. Raises WriteError where the report is not in its place."""
        counts = count(amended(self._cells, self._amends))
        self._line(footer_line(Footer(counts=counts, digest=_digest(self.kept))))
        self.close()
        self.check()

    def check(self) -> None:
        """Raise WriteError where a line could not be written to its place."""
        if self.trouble:
            raise self._error(self.trouble)

    def close(self) -> None:
        """Close the file; without a footer the report stays incomplete."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _line(self, line: Line) -> None:
        data = _encoded(line)
        self.kept.append(data)
        if self._file is None:
            return
        try:
            _write(self._file, data)
        except OSError as error:
            self._fall_back(error)

    def _fall_back(self, error: OSError) -> None:
        """Go on in the temporary directory, or in memory alone where that is full too."""
        self.trouble = self.trouble or _why(error)
        self.close()
        if self.fallback is not None:
            self.trouble += f"; {self.fallback}: {_why(error)}"
            return
        try:
            self._file, name = tempfile.mkstemp(prefix="escape-matrix-", suffix=".jsonl")
            self.fallback = Path(name)
            _write(self._file, b"".join(self.kept))
        except OSError as again:
            self.trouble += f"; {tempfile.gettempdir()}: {_why(again)}"
            self.close()

    def _error(self, why: str) -> WriteError:
        if self.fallback is not None:
            do = f"what was measured is in {self.fallback}; make room and move it into place"
        else:
            do = "give --out a directory that this account can write to, with room in it"
        problem = Problem(
            kind="cannot-write",
            where=Source(file=str(self.path)),
            what=f"the report cannot be written: {why}",
            do=do,
        )
        return WriteError([problem])


def read(path: Path) -> Report:
    """The report in `path`, complete or not. Raises ReportError where it cannot be read at all.

    A last line that was cut short is what a killed run leaves: the report is then incomplete. Any
    other line that is not one of ours makes it unreadable.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, 0, _why(error), "check the path and its mode") from error
    lines = data.splitlines(keepends=True)
    if not lines:
        raise _unreadable(path, 0, "the file is empty", "run again")
    header = _header(path, lines[0])
    cells: list[Cell] = []
    amends: list[Amend] = []
    footer: Footer | None = None
    digest, cut = "", ""
    for number, raw in enumerate(lines[1:], start=2):
        if footer is not None:
            raise _unreadable(path, number, "there are lines after the footer", "keep one report in a file")
        try:
            line = _object(raw)
            match line.get("kind"):
                case "cell":
                    cells.append(cell_from(line))
                case "amend":
                    amends.append(amend_from(line))
                case "footer":
                    footer, digest = footer_from(line), _digest(lines[: number - 1])
                case kind:
                    raise Damaged(f"{kind!r} is no kind of line")  # noqa: TRY301 - said as of any other line
        except Damaged as why:
            if number == len(lines) and not raw.endswith(b"\n"):
                cut = f"line {number} is cut short"
                break
            raise _unreadable(path, number, f"the line is damaged: {why}", "make the report again") from why
    report = assemble(header, cells, amends, footer, digest)
    return Report(header=header, cells=report.cells, faults=(*([cut] if cut else []), *report.faults))


def _header(path: Path, raw: bytes) -> Header:
    do = "give a report.jsonl that `escape-matrix run` wrote"
    try:
        line = _object(raw)
        if line.get("kind") != "header":
            raise _unreadable(path, 1, "this is no report: its first line is no header", do)
        if line.get("format") != FORMAT:
            what = f"the report has format {line.get('format')!r}, this version reads {FORMAT}"
            raise _unreadable(path, 1, what, "use the version of escape-matrix that wrote it")
        return header_from(line)
    except Damaged as why:
        raise _unreadable(path, 1, f"the header is damaged: {why}", do) from why


def _object(raw: bytes) -> dict[str, Any]:
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise Damaged(f"no JSON ({error})") from error
    if not isinstance(line, dict):
        raise Damaged("no object")
    return line  # type: ignore[reportUnknownVariableType] # JSON has text as keys


def _unreadable(path: Path, number: int, what: str, do: str) -> ReportError:
    where = Source(file=str(path), line=number)
    return ReportError([Problem(kind="unreadable", where=where, what=visible(what), do=do)])


def _encoded(line: Line) -> bytes:
    """One line. Only ASCII, so that even `cat` shows no control character of a sandbox's."""
    return json.dumps(line, ensure_ascii=True, separators=(", ", ": ")).encode() + b"\n"


def _write(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def _digest(lines: list[bytes]) -> str:
    return "sha256:" + hashlib.sha256(b"".join(lines)).hexdigest()


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
