"""The gate: a report and what was expected of it become an exit code, with its reasons. Pure.

Nothing passes for want of a result: a column that ran nothing, a mechanism without a held cell
and an entry that is about nothing are findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from matrix.errors import Code
from matrix.expectation import Expectation
from matrix.model import Cell, Reason, Untested
from matrix.record import Column, Report
from matrix.visible import visible

LONGEST = timedelta(days=90)
"""A waiver lasts at most so long from today."""

ORDER = (Code.INCOMPLETE, Code.ESCAPED, Code.STALE, Code.NOT_TESTED, Code.NOTHING_RUN, Code.CLEAN)
"""The first that applies is the exit code. What is found under CLEAN is only said."""

MEANING = {
    Code.INCOMPLETE: "the report is not complete",
    Code.ESCAPED: "something claimed or expected held has escaped",
    Code.STALE: "an expectation is expired or no longer true",
    Code.NOT_TESTED: "something that had to be tested is not",
    Code.NOTHING_RUN: "nothing was run: no cell is held and none has escaped",
    Code.CLEAN: "everything that had to hold is held",
}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that the gate found."""

    code: Code
    text: str


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The exit code and every finding, the weightiest first."""

    code: Code
    findings: tuple[Finding, ...]

    def lines(self, most: int = 10) -> list[str]:
        """The decision in at most so many lines that a person can act on."""
        said = [f"gate: {self.code.value}: {MEANING[self.code]}"]
        texts = [visible(finding.text) for finding in self.findings]
        room = most - 1
        if len(texts) <= room:
            return said + texts
        return [*said, *texts[: room - 1], f"and {len(texts) - room + 1} more"]


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A cell and the entries that are about it."""

    cell: Cell
    required: tuple[Expectation, ...]  # expect held
    waived: tuple[Expectation, ...]  # expect escaped
    excused: tuple[Expectation, ...]  # expect untested

    @property
    def must_hold(self) -> bool:
        """Whether anybody says that this cell is held."""
        return self.cell.claimed or bool(self.required)

    @property
    def reason(self) -> Reason | None:
        """Why the cell is untested, where it is."""
        return self.cell.verdict.reason if isinstance(self.cell.verdict, Untested) else None


def decide(report: Report, entries: Sequence[Expectation], today: date, *, strict: bool = False) -> Decision:
    """What the report comes to.

    `strict`: every cell has to be tested of the backends that were named, of all where none was.
    """
    here = [entry for entry in entries if entry.match.leg(report.header.leg)]
    valid = [entry for entry in here if in_time(entry, today)]
    found = [_finding(Code.INCOMPLETE, f"incomplete: {fault}") for fault in report.faults]
    for column in report.header.columns:
        mine = [standing(cell, valid) for cell in report.cells if cell.backend == column.id]
        found += _of_column(column, mine, strict=strict and _is_strict(column, report))
    found += _of_entries(entries, here, report, today)
    if not report.tested:
        found.append(_finding(Code.NOTHING_RUN, "no cell is held and none has escaped"))
    found.sort(key=lambda finding: ORDER.index(finding.code))
    code = found[0].code if found else Code.CLEAN
    return Decision(code=code, findings=tuple(found))


def standing(cell: Cell, valid: Iterable[Expectation]) -> Standing:
    """How the entries see a cell. A waiver without a last day forgives nothing that was to hold."""
    about = [entry for entry in valid if entry.match.cell(cell)]
    required = tuple(entry for entry in about if entry.expect == "held")
    must_hold = cell.claimed or bool(required)
    return Standing(
        cell=cell,
        required=required,
        waived=tuple(e for e in about if e.expect == "escaped" and (e.expires or not must_hold)),
        excused=tuple(entry for entry in about if entry.expect == "untested"),
    )


def in_time(entry: Expectation, today: date) -> bool:
    """Whether an entry counts today: not expired, and not a waiver for longer than one may last."""
    if entry.expires is None:
        return True
    return today <= entry.expires and (entry.expect != "escaped" or entry.expires - today <= LONGEST)


def of_cell(seen: Standing, *, strict: bool = False) -> Finding | None:
    """What one cell does to the decision by itself: nothing, or a finding."""
    cell = seen.cell
    whose = "claimed" if cell.claimed else "required"
    match cell.word:
        case "escaped" if seen.must_hold and not seen.waived:
            return _finding(Code.ESCAPED, f"{whose} held, and escaped")
        case "escaped" if seen.excused:
            return _finding(Code.STALE, f"{seen.excused[0].id} expects untested, it has escaped")
        case "held" if other := seen.waived or seen.excused:
            return _finding(Code.STALE, f"{other[0].id} expects {other[0].expect}, it is held")
        case "untested":
            return _of_untested(seen, strict=strict)
        case _:
            return None


def _of_untested(seen: Standing, *, strict: bool) -> Finding | None:
    reason = seen.reason
    if seen.excused or reason is None:
        return None
    if any(reason not in entry.accept for entry in seen.required):
        return _finding(Code.NOT_TESTED, f"required held, and untested: {reason}")
    if reason.kind == "fault" and (seen.cell.claimed or seen.waived):
        whose = "claimed held" if seen.cell.claimed else "expected escaped"
        return _finding(Code.NOT_TESTED, f"{whose}, and untested: {reason}")
    if strict and not seen.required and reason is not Reason.OTHER_PLATFORM:
        return _finding(Code.NOT_TESTED, f"untested: {reason}")
    return None


def _of_entries(
    entries: Sequence[Expectation], here: Sequence[Expectation], report: Report, today: date
) -> Iterator[Finding]:
    """What is wrong with the entries themselves."""
    leg = report.header.leg
    if entries and not here:
        yield _finding(Code.STALE, f"no entry is for this leg: {leg.platform}, {leg.identity}, {leg.label!r}")
    elif away := len(entries) - len(here):
        yield _finding(Code.CLEAN, f"{away} entries are for other legs")
    for entry in here:
        about = [cell for cell in report.cells if entry.match.cell(cell)]
        if why := _wrong(entry, about, here, today):
            yield _finding(Code.STALE, f"{entry.source}: {entry.id}: {why}")


def _wrong(entry: Expectation, about: Sequence[Cell], here: Sequence[Expectation], today: date) -> str:
    """Why an entry does not stand; empty where it does."""
    if entry.expires is not None and today > entry.expires:
        return f"expired on {entry.expires}: settle it with {entry.owner}, or remove it"
    if not in_time(entry, today):
        return f"a waiver lasts at most {LONGEST.days} days, this one ends on {entry.expires}"
    if not about:
        return f"it is about no cell ({entry.match}): correct or remove it"
    others = [
        other
        for other in here
        if {entry.expect, other.expect} in ({"untested", "held"}, {"untested", "escaped"})
    ]
    for other in others:
        if any(other.match.cell(cell) for cell in about):
            return f"expects {entry.expect}, and {other.id} expects {other.expect} of the same cell"
    if entry.expect == "escaped" and entry.expires is None:
        held = [cell.case for cell in about if standing(cell, here).must_hold]
        if held:
            return f"a waiver must say when it expires; it forgives what is to hold: {_some(held)}"
    return ""


def _of_column(column: Column, mine: Sequence[Standing], *, strict: bool) -> Iterator[Finding]:
    """Everything that one column comes to. One line says all of a column that tested nothing."""
    singles = [(seen.cell, of_cell(seen, strict=strict)) for seen in mine]
    found = [(cell, finding) for cell, finding in singles if finding is not None]
    if all(seen.cell.word == "untested" for seen in mine):
        yield _of_empty(column, mine, needed=column.named or strict or bool(found))
        return
    groups: dict[tuple[str, Finding], list[Cell]] = {}
    for cell, finding in found:
        groups.setdefault((cell.mechanism, finding), []).append(cell)
    for (mechanism, finding), cells in groups.items():
        evidence = f" ({cells[0].verdict.evidence[:200]})" if len(cells) == 1 else ""
        cases = _some([cell.case for cell in cells])
        yield _finding(finding.code, f"{column.id}: {mechanism}: {finding.text}: {cases}{evidence}")
    yield from _of_mechanisms(column, mine, needed=column.named or strict)


def _of_empty(column: Column, mine: Sequence[Standing], *, needed: bool) -> Finding:
    """A column of which no cell was tested. As a whole that is never silent."""
    nothing = "none is in the report" if column.cases else "none was planned"
    reasons = ", ".join(dict.fromkeys(str(seen.reason) for seen in mine)) or nothing
    absent = [seen.cell.verdict.evidence for seen in mine if seen.reason is Reason.NOT_INSTALLED]
    if missing := column.missing or "; ".join(absent[:1]):
        text = f"{column.id}: not installed: {missing}"
    else:
        text = f"{column.id}: none of its {len(mine) or len(column.cases)} cells was tested: {reasons}"
    excused = bool(mine) and all(seen.excused for seen in mine)
    broke = any(seen.reason is not None and seen.reason.kind == "fault" for seen in mine)
    had_to = needed or (not missing and (broke or any(_counts(seen) for seen in mine)))
    return _finding(Code.NOT_TESTED if had_to and not excused else Code.CLEAN, text)


def _of_mechanisms(column: Column, mine: Sequence[Standing], *, needed: bool) -> Iterator[Finding]:
    """Claimed mechanisms without a held cell; where one escaped instead, that is a finding already.

    A launcher that cannot run where these rows do is like one that is not here: only said, unless needed.
    """
    groups: dict[str, list[Standing]] = {}
    for seen in filter(_counts, mine):
        groups.setdefault(seen.cell.mechanism, []).append(seen)
    for mechanism, group in groups.items():
        if not needed and all(seen.reason is Reason.NOT_INSTALLED for seen in group):
            why = group[0].cell.verdict.evidence
            yield _finding(Code.CLEAN, f"{column.id}: {mechanism}: claimed, and cannot be tested here: {why}")
        elif all(seen.cell.word == "untested" for seen in group):
            reasons = ", ".join(dict.fromkeys(str(seen.reason) for seen in group))
            text = f"{column.id}: {mechanism}: claimed, and no cell is held: {reasons}"
            yield _finding(Code.NOT_TESTED, text)


def _counts(seen: Standing) -> bool:
    """Whether a cell counts for its claimed mechanism: on this platform, and not forgiven."""
    forgiven = seen.excused or (seen.waived and seen.cell.word == "escaped")
    return seen.cell.claimed and not forgiven and seen.reason is not Reason.OTHER_PLATFORM


def _is_strict(column: Column, report: Report) -> bool:
    """Whether --strict is about this column."""
    return column.named or not any(each.named for each in report.header.columns)


def _some(names: Sequence[str], most: int = 3) -> str:
    left = len(names) - most
    return ", ".join(names[:most]) + (f" and {left} more" if left > 0 else "")


def _finding(code: Code, text: str) -> Finding:
    return Finding(code=code, text=text)
