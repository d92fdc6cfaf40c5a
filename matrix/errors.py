"""What went wrong, where, and what to do about it: one class for each exit code that a mistake ends with.

A person's mistake never ends in a traceback. Whoever finds one collects all of them as `Problem`s
and raises once; the command line prints one line each and ends with the class's code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

from matrix.model import Source

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")  # a message is one line, whatever a file's words hold


class Code(IntEnum):
    """The exit codes of the command line."""

    CLEAN = 0
    USAGE = 2
    ESCAPED = 10  # something claimed or expected held has escaped
    NOT_TESTED = 11  # something that had to be tested is not
    STALE = 12  # an expectation is expired or no longer true
    DATA = 13  # bad data, or a gap in the table
    INCOMPLETE = 14  # a report without all of its cells
    NOTHING_RUN = 15
    CANNOT_WRITE = 16
    UNREADABLE = 17  # a report that cannot be read
    INTERRUPTED = 130


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One mistake in one place."""

    kind: str  # a short name, the same for the same mistake wherever it is made
    where: Source
    what: str
    do: str  # what to do about it
    id: str = ""  # of the row, table or entry, where it has one

    def __str__(self) -> str:
        """file:line: id: what; what to do."""
        parts = (str(self.where), self.id, f"{self.what}; {self.do}")
        line = ": ".join(part for part in parts if part)
        return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], line)


class Trouble(Exception):  # noqa: N818 - it says what kind of trouble in its subclasses
    """Something that a person can put right. Never raised itself, only its subclasses."""

    code: ClassVar[Code]

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda each: (each.where.file, each.where.line)))
        super().__init__("\n".join(str(problem) for problem in self.problems))

    @classmethod
    def one(cls, what: str, do: str, *, where: str = "escape-matrix", kind: str = "") -> Trouble:
        """A single mistake that is not in a file of rows, such as a wrong option."""
        problem = Problem(kind=kind, where=Source(file=where), what=what, do=do)
        return cls([problem])


class UsageError(Trouble):
    """The command line asks for something that does not exist."""

    code = Code.USAGE


class DataError(Trouble):
    """Rows, backends or expectations are wrong, or the table has a gap."""

    code = Code.DATA


class WriteError(Trouble):
    """A file or directory of ours cannot be written; what was measured is kept where it was."""

    code = Code.CANNOT_WRITE


class ReportError(Trouble):
    """A report cannot be read."""

    code = Code.UNREADABLE
