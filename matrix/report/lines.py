"""Values to JSON objects and back: one line of report.jsonl each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from matrix.model import Cell, Escaped, Held, Leg, Reason, Source, Untested, Verdict
from matrix.record import WORDS, Amend, Column, Footer, Header

FORMAT = 1
LIMIT = 4096
"""So many characters of what a sandbox said are kept; more says nothing more."""

Line = Mapping[str, Any]


class Damaged(Exception):  # noqa: N818 - it is said of a line
    """A line that is JSON, but not one of ours; the text says what is wrong with it."""


def header_line(header: Header) -> Line:
    """The first line. It never holds an environment: every fact is one that we asked for by name."""
    return {
        "kind": "header",
        "format": FORMAT,
        "version": header.version,
        "started": header.started,
        **_leg_line(header.leg),
        "fakes": header.fakes,
        "host": dict(header.host),
        "digests": dict(header.digests),
        "planned": header.planned,
        "columns": [
            {
                "backend": column.id,
                "title": column.title,
                "version": _bounded(column.version),
                "missing": _bounded(column.missing),
                "named": column.named,
                "cases": list(column.cases),
            }
            for column in header.columns
        ],
        "mechanisms": dict(header.mechanisms),
        "titles": dict(header.titles),
    }


def cell_line(cell: Cell) -> Line:
    """One cell."""
    reason: dict[str, str] = {}
    if isinstance(cell.verdict, Untested):
        reason = {"reason": cell.verdict.reason.value, "reason_kind": cell.verdict.reason.kind}
    return {
        "kind": "cell",
        "case": cell.case,
        "mechanism": cell.mechanism,
        "backend": cell.backend,
        **_leg_line(cell.leg),
        "verdict": cell.word,
        **reason,
        "claimed": cell.claimed,
        "evidence": _bounded(cell.verdict.evidence),
        "argv": [_bounded(argument) for argument in cell.argv],
        "repeat": cell.repeat,
        "seconds": round(cell.seconds, 6),
        "steps": [_bounded(step) for step in cell.steps],
        "file": cell.source.file,
        "line": cell.source.line,
    }


def amend_line(amend: Amend) -> Line:
    """A late canary."""
    return {
        "kind": "amend",
        "case": amend.case,
        "backend": amend.backend,
        **_leg_line(amend.leg),
        "verdict": "escaped",
        "evidence": _bounded(amend.evidence),
    }


def footer_line(footer: Footer) -> Line:
    """The last line."""
    return {"kind": "footer", "counts": dict(footer.counts), "digest": footer.digest}


def header_from(line: Line) -> Header:
    """What header_line wrote. Raises Damaged."""
    columns = tuple(_column_from(each) for each in _list(line, "columns", dict))
    header = Header(
        version=_text(line, "version"),
        leg=_leg_from(line),
        columns=columns,
        started=_text(line, "started"),
        host=_texts(line, "host"),
        digests=_texts(line, "digests"),
        mechanisms=_texts(line, "mechanisms"),
        titles=_texts(line, "titles"),
        fakes=_of(line, "fakes", bool),
    )
    if _of(line, "planned", int) != header.planned:
        raise Damaged(f"planned is {line['planned']}, the columns come to {header.planned}")
    return header


def cell_from(line: Line) -> Cell:
    """What cell_line wrote. Raises Damaged."""
    return Cell(
        case=_text(line, "case"),
        mechanism=_text(line, "mechanism"),
        backend=_text(line, "backend"),
        leg=_leg_from(line),
        verdict=_verdict_from(line),
        claimed=_of(line, "claimed", bool),
        argv=tuple(_list(line, "argv", str)),
        repeat=_text(line, "repeat"),
        seconds=float(_of(line, "seconds", (int, float))),
        steps=tuple(_list(line, "steps", str)),
        source=Source(file=_text(line, "file"), line=_of(line, "line", int)),
    )


def amend_from(line: Line) -> Amend:
    """What amend_line wrote. Raises Damaged, also where it amends to anything but escaped."""
    if line.get("verdict") != "escaped":
        raise Damaged(f"an amendment can only say escaped, this one says {line.get('verdict')!r}")
    return Amend(
        case=_text(line, "case"),
        backend=_text(line, "backend"),
        leg=_leg_from(line),
        evidence=_text(line, "evidence"),
    )


def footer_from(line: Line) -> Footer:
    """What footer_line wrote. Raises Damaged."""
    counts = _of(line, "counts", dict)
    if set(counts) != set(WORDS) or any(type(number) is not int or number < 0 for number in counts.values()):
        raise Damaged(f"counts must be whole numbers of {', '.join(WORDS)}")
    return Footer(counts=counts, digest=_text(line, "digest"))


def _verdict_from(line: Line) -> Verdict:
    evidence = _text(line, "evidence")
    match line.get("verdict"):
        case "held":
            return Held(evidence=evidence)
        case "escaped":
            return Escaped(evidence=evidence)
        case "untested":
            try:
                reason = Reason(_text(line, "reason"))
            except ValueError as error:
                raise Damaged(f"{error}: no reason for untested") from error
            if line.get("reason_kind") != reason.kind:
                raise Damaged(f"the reason {reason} is of the kind {reason.kind}")
            return Untested(reason=reason, evidence=evidence)
        case word:
            raise Damaged(f"{word!r} is no verdict")


def _leg_line(leg: Leg) -> Line:
    return {"platform": leg.platform, "identity": leg.identity, "label": leg.label}


def _leg_from(line: Line) -> Leg:
    return Leg(platform=_text(line, "platform"), identity=_text(line, "identity"), label=_text(line, "label"))


def _column_from(line: Line) -> Column:
    return Column(
        id=_text(line, "backend"),
        title=_text(line, "title"),
        version=_text(line, "version"),
        missing=_text(line, "missing"),
        named=_of(line, "named", bool),
        cases=tuple(_list(line, "cases", str)),
    )


def _bounded(text: str) -> str:
    left = len(text) - LIMIT
    return f"{text[:LIMIT]}… ({left} more)" if left > 0 else text


def _of(line: Line, name: str, kind: type | tuple[type, ...]) -> Any:
    value = line.get(name)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise Damaged(f"{name} is {value!r}"[:200])
    return value


def _text(line: Line, name: str) -> str:
    return cast("str", _of(line, name, str))


def _list(line: Line, name: str, kind: type) -> list[Any]:
    value = cast("list[Any]", _of(line, name, list))
    if not all(isinstance(each, kind) for each in value):
        raise Damaged(f"{name} holds something else than {kind.__name__}")
    return value


def _texts(line: Line, name: str) -> Mapping[str, str]:
    value = cast("dict[str, Any]", _of(line, name, dict))
    if not all(isinstance(each, str) for each in value.values()):
        raise Damaged(f"{name} holds something else than text")
    return value
