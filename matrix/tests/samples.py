"""Small reports to test with: two backends, a few cells, every verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matrix.model import Cell, Escaped, Held, Leg, Reason, Source, Untested, Verdict
from matrix.record import Column, Footer, Header, Report, assemble, count
from matrix.report.jsonl import Writer

LEG = Leg(platform="linux", identity="user", label="stock")
HELD = Held(evidence="refused: connect: ECONNREFUSED")
ESCAPED = Escaped(evidence="the listener on 127.0.0.1 received the canary")


def untested(reason: Reason = Reason.NOT_STARTED, evidence: str = "nothing spoke inside") -> Untested:
    return Untested(reason=reason, evidence=evidence)


def cell(
    case: str, verdict: Verdict = HELD, backend: str = "box", mechanism: str = "loopback", **more: Any
) -> Cell:
    facts: dict[str, Any] = {
        "leg": LEG,
        "claimed": True,
        "argv": (backend, "--", "python3", "launcher.py"),
        "repeat": f"escape-matrix run --case {case} --backend {backend}",
        "seconds": 0.25,
        "steps": ("socket", "connect"),
        "source": Source(file="testdata/cases/loopback.json", line=5),
    }
    return Cell(case=case, verdict=verdict, backend=backend, mechanism=mechanism, **(facts | more))


def header(*cells: Cell, **more: Any) -> Header:
    """A header that plans these cells; `columns` holds what else is to be said of a backend."""
    said: dict[str, dict[str, Any]] = more.pop("columns", {})
    backends = dict.fromkeys([each.backend for each in cells] + list(said))
    facts: dict[str, Any] = {
        "version": "0.1.0",
        "leg": cells[0].leg if cells else LEG,
        "started": "2026-11-30T03:00:00Z",
        "host": {"kernel": "Linux 6.18.44 x86_64", "uid": "1000", "dev.tty.legacy_tiocsti": "0"},
        "digests": {"table": "sha256:00"},
        "mechanisms": dict.fromkeys((each.mechanism for each in cells), "A way out"),
        "titles": {each.case: f"The way out {each.case} is open" for each in cells},
        "columns": tuple(
            Column(
                id=backend,
                cases=tuple(each.case for each in cells if each.backend == backend),
                **({"title": backend, "version": f"{backend} 1.0"} | said.get(backend, {})),
            )
            for backend in backends
        ),
    }
    return Header(**(facts | more))


def report(*cells: Cell, **more: Any) -> Report:
    """A complete report of these cells."""
    return assemble(header(*cells, **more), cells, (), Footer(counts=count(cells), digest="x"), "x")


def write(path: Path, *cells: Cell, **more: Any) -> Path:
    """The same as a file."""
    writer = Writer(path, header(*cells, **more))
    for each in cells:
        writer.cell(each)
    writer.finish()
    return path
