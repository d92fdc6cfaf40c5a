"""A report as a value: what was planned, what came out, and whether all of it is there. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from matrix.model import Cell, Escaped, Leg

WORDS = ("held", "escaped", "untested")


@dataclass(frozen=True, kw_only=True)
class Column:
    """What a report says of one backend, whatever its cells came to."""

    id: str
    title: str = ""
    version: str = ""  # what the program says of itself; empty where it was not found
    missing: str = ""  # what is missing, where it was not found
    named: bool = False  # asked for by name, so it has to be tested
    cases: tuple[str, ...] = ()  # planned, in the order of the table


@dataclass(frozen=True, kw_only=True)
class Header:
    """Where, as whom and with what a run was made, and every cell that it owes."""

    version: str  # of escape-matrix
    leg: Leg
    columns: tuple[Column, ...]
    started: str = ""  # ISO 8601, in UTC
    host: Mapping[str, str] = field(default_factory=dict[str, str])
    digests: Mapping[str, str] = field(default_factory=dict[str, str])  # of table, attacks and backends
    mechanisms: Mapping[str, str] = field(default_factory=dict[str, str])  # id → title, in their order
    titles: Mapping[str, str] = field(default_factory=dict[str, str])  # case → title
    fakes: bool = False  # made on doubles, so it proves nothing about any sandbox

    @property
    def planned(self) -> int:
        """How many cells the report owes."""
        return sum(len(column.cases) for column in self.columns)


@dataclass(frozen=True, kw_only=True)
class Amend:
    """A canary that arrived after its cell had been judged. It can only say escaped."""

    case: str
    backend: str
    leg: Leg
    evidence: str


@dataclass(frozen=True, kw_only=True)
class Footer:
    """What the writer counted when it had written everything."""

    counts: Mapping[str, int]
    digest: str


@dataclass(frozen=True, kw_only=True)
class Report:
    """A report that could be read.

    `cells` are amended and in the order of the plan; `faults` say why the report is not complete.
    """

    header: Header
    cells: tuple[Cell, ...]
    faults: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every planned cell is there exactly once, as it was written."""
        return not self.faults

    @property
    def tested(self) -> bool:
        """Whether anything was proved, one way or the other."""
        return any(cell.word != "untested" for cell in self.cells)

    def column(self, backend: str) -> Column:
        """What the header says of a backend; an empty column where it says nothing."""
        known = {column.id: column for column in self.header.columns}
        return known.get(backend, Column(id=backend))


Key = tuple[str, str, Leg]


def key(cell: Cell | Amend) -> Key:
    """What makes a cell the one that it is."""
    return cell.case, cell.backend, cell.leg


def count(cells: Iterable[Cell]) -> dict[str, int]:
    """How many cells are held, escaped and untested, in this order."""
    found = Counter(cell.word for cell in cells)
    return {word: found[word] for word in WORDS}


def amended(cells: Iterable[Cell], amends: Iterable[Amend]) -> tuple[Cell, ...]:
    """The cells, with those escaped whose canary came late."""
    late = {key(amend): amend.evidence for amend in amends}

    def one(cell: Cell) -> Cell:
        evidence = late.get(key(cell))
        if evidence is None or cell.word == "escaped":
            return cell
        return replace(cell, verdict=Escaped(evidence=f"late: {evidence}"))

    return tuple(one(cell) for cell in cells)


def assemble(
    header: Header, cells: Iterable[Cell], amends: Iterable[Amend], footer: Footer | None, digest: str
) -> Report:
    """A report from its lines in whatever order they came, and all that keeps it from being complete.

    `digest` is that of the lines as they were read, to be compared with the footer's.
    """
    planned = [(case, column.id) for column in header.columns for case in column.cases]
    place = {each: number for number, each in enumerate(planned)}
    given = sorted(cells, key=lambda cell: place.get((cell.case, cell.backend), len(planned)))
    late = tuple(amends)
    result = amended(given, late)
    faults = [*_made_on_fakes(header), *_gaps(header, given, late), *_ending(result, header, footer, digest)]
    return Report(header=header, cells=result, faults=tuple(faults))


def _made_on_fakes(header: Header) -> Iterator[str]:
    if header.fakes:
        yield "it was made on fakes, which say nothing about any sandbox"


def _gaps(header: Header, cells: Sequence[Cell], amends: Sequence[Amend]) -> Iterator[str]:
    """Cells that are missing, doubled or not planned, and amendments of none."""
    planned = Counter((case, column.id, header.leg) for column in header.columns for case in column.cases)
    found = Counter(key(cell) for cell in cells)
    for text, keys in (
        ("planned twice", [each for each, times in planned.items() if times > 1]),
        ("missing", [each for each in planned if each not in found]),
        ("there twice", [each for each, times in found.items() if times > 1]),
        ("not planned", [each for each in found if each not in planned]),
        ("amended, but not there", [key(amend) for amend in amends if key(amend) not in found]),
    ):
        if keys:
            yield f"{_cells(len(keys))} {text}: {_named(keys)}"


def _ending(cells: tuple[Cell, ...], header: Header, footer: Footer | None, digest: str) -> Iterator[str]:
    """What the footer says against the lines before it."""
    if footer is None:
        yield "it has no footer: the run did not come to its end"
        return
    if dict(footer.counts) != count(cells):
        yield f"its footer counts {_counts(footer.counts)}, its cells come to {_counts(count(cells))}"
    if sum(footer.counts.values()) != header.planned:
        yield f"its footer counts {sum(footer.counts.values())} cells, {header.planned} were planned"
    if footer.digest != digest:
        yield "its lines are not those that were written: the digest differs"


def _cells(number: int) -> str:
    return "1 cell" if number == 1 else f"{number} cells"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {word}" for word, number in counts.items())


def _named(keys: list[Key], most: int = 3) -> str:
    names = [f"{case}@{backend}@{leg.platform}" for case, backend, leg in keys[:most]]
    return ", ".join(names) + (f" and {len(keys) - most} more" if len(keys) > most else "")
