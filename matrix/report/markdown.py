"""The matrix as a Markdown table, for a README or a step summary. Not by way of a terminal: that wraps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from matrix.errors import DataError, Problem
from matrix.model import Source
from matrix.record import Report
from matrix.report.summary import matrix
from matrix.visible import markdown

BEGIN, END = "<!-- matrix:begin -->", "<!-- matrix:end -->"
SYMBOLS = {"escaped": "❌", "held": "✅", "untested": "❔"}  # the worst first


def table(report: Report) -> str:
    """Mechanisms × backends with counts, and under it what could not be tested at all."""
    found = matrix(report)
    rows = [["", *(f"**{markdown(each)}**" for each in found.backends)], ["---"] * (len(found.backends) + 1)]
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


def between(text: str, content: str, name: str) -> str:
    """`text`, the file `name`, with `content` between its two markers. Raises DataError without them."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        what = f"the file lacks the marker {END if begin else BEGIN}"
        do = f"put {BEGIN} and {END} on lines of their own where the table is to stand"
        raise DataError([Problem(kind="no-marker", where=Source(file=name), what=what, do=do)])
    return f"{before}{BEGIN}\n\n{content}\n\n{END}{after}"


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
