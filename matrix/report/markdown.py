"""The matrix as a Markdown table, for a README or a step summary. Not by way of a terminal: that wraps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from matrix.errors import DataError, Problem, UsageError
from matrix.model import Source
from matrix.record import Report
from matrix.report.summary import matrix
from matrix.visible import markdown

SYMBOLS = {"escaped": "❌", "held": "✅", "untested": "❔"}  # the worst first


def table(report: Report) -> str:
    """Mechanisms × backends with counts, and under it what could not be tested at all."""
    found = matrix(report)
    rows = _head(found.backends)
    for mechanism in found.mechanisms:
        counts = (found.counts.get((mechanism, backend), {}) for backend in found.backends)
        rows.append([markdown(mechanism), *map(_place, counts)])
    rows.append(["**all**", *(_place(found.totals.get(backend, {})) for backend in found.backends)])
    lines = [_row(row) for row in rows] if found.backends else ["Nothing was tested."]
    notes = [
        f"- {markdown(backend)}: {sum(found.totals.get(backend, {}).values())} untested: {markdown(why)}"
        for backend, why in found.idle.items()
    ]
    return "\n".join([*lines, "", _caption(report), *(["", *notes] if notes else [])])


def rows(report: Report, cases: Sequence[str]) -> str:
    """These cases × backends, each with its verdict. Raises UsageError for one that is not in the report."""
    words = {(cell.case, cell.backend): cell.word for cell in report.cells}
    if gone := sorted({*cases} - {case for case, _ in words}):
        raise UsageError.one(f"no such row in the report: {', '.join(gone)}", "see: escape-matrix list cases")
    backends = matrix(report).backends
    drawn = [
        [
            markdown(report.header.titles.get(case, case)),
            *(SYMBOLS.get(words.get((case, each), ""), "") for each in backends),
        ]
        for case in cases
    ]
    return "\n".join(_row(row) for row in [*_head(backends), *drawn])


def markers(name: str) -> tuple[str, str]:
    """The lines that a table of this name stands between."""
    return f"<!-- {name}:begin -->", f"<!-- {name}:end -->"


def between(text: str, content: str, file: str, name: str) -> str:
    """`text`, the file `file`, with `content` between its two markers. Raises DataError without them."""
    first, last = markers(name)
    before, begin, rest = text.partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end:
        what = f"the file lacks the marker {last if begin else first}"
        do = f"put {first} and {last} on lines of their own where the table is to stand"
        raise DataError([Problem(kind="no-marker", where=Source(file=file), what=what, do=do)])
    return f"{before}{first}\n\n{content}\n\n{last}{after}"


def _head(backends: Iterable[str]) -> list[list[str]]:
    columns = [f"**{markdown(each)}**" for each in backends]
    return [["", *columns], ["---"] * (len(columns) + 1)]


def _place(counts: Mapping[str, int]) -> str:
    return "<br>".join(
        f"{symbol} {counts[word]} {word}" for word, symbol in SYMBOLS.items() if counts.get(word)
    )


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _caption(report: Report) -> str:
    header = report.header
    versions = dict.fromkeys(column.version for column in header.columns if column.version)
    facts = [
        header.leg.platform,
        header.leg.identity,
        header.leg.label,
        header.host.get("kernel", ""),
        *versions,
    ]
    said = ", ".join(markdown(fact, 80) for fact in facts if fact)
    return said if report.complete else f"{said}. **The report is not complete.**"
