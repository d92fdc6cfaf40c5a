"""What a person expects of a report beyond the vendors' claims. Pure.

An entry that expects held is a requirement. One that expects escaped forgives an escape that was
claimed or required (a waiver, which must expire), or says what a column shows today (a posture).
One that expects untested accepts that these cells prove nothing here.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import date
from fnmatch import fnmatchcase
from typing import Literal

from matrix.model import Cell, Leg, Reason, Source

Expect = Literal["held", "escaped", "untested"]


@dataclass(frozen=True, kw_only=True)
class Match:
    """Which cells an entry is about: patterns as in a shell, where * stands for anything."""

    case: str = "*"
    mechanism: str = "*"
    backend: str = "*"
    platform: str = "*"
    identity: str = "*"
    label: str = "*"

    def cell(self, cell: Cell) -> bool:
        """Whether the entry is about this cell."""
        return (
            self.leg(cell.leg)
            and fnmatchcase(cell.case, self.case)
            and fnmatchcase(cell.mechanism, self.mechanism)
            and fnmatchcase(cell.backend, self.backend)
        )

    def leg(self, leg: Leg) -> bool:
        """Whether the entry is about anything on this leg."""
        return (
            fnmatchcase(leg.platform, self.platform)
            and fnmatchcase(leg.identity, self.identity)
            and fnmatchcase(leg.label, self.label)
        )

    def __str__(self) -> str:
        """Only what it asks for: case=tty-* backend=bubblewrap."""
        asked = ((each.name, getattr(self, each.name)) for each in fields(self))
        return " ".join(f"{name}={pattern}" for name, pattern in asked if pattern != "*")


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """One entry: what these cells must come to, why, who says so, and until when."""

    id: str
    match: Match
    expect: Expect
    reason: str
    owner: str
    issue: str = ""
    expires: date | None = None  # the last day on which it holds
    accept: frozenset[Reason] = frozenset()  # reasons for untested that satisfy a requirement
    source: Source = Source(file="")
