"""From the table's files to values, with every mistake in every file told at once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, cast

from matrix import locate
from matrix.errors import DataError, Problem
from matrix.load_backends import load_backends
from matrix.model import Case, Mechanism, Source, Table, Untestable
from matrix.positions import Located, Unreadable, read_json
from matrix.shape import complaints
from runners.contract import Channel

__all__ = ["load_backends", "load_table", "read_schema"]


def read_schema(name: str) -> Mapping[str, Any]:
    """One of the schemas that we ship."""
    return cast("Mapping[str, Any]", json.loads((locate.testdata() / name).read_text(encoding="utf-8")))


@dataclass
class _Heap:
    """What the files hold so far."""

    problems: list[Problem] = field(default_factory=list[Problem])
    mechanisms: list[Mechanism] = field(default_factory=list[Mechanism])
    cases: list[Case] = field(default_factory=list[Case])
    untestable: list[Untestable] = field(default_factory=list[Untestable])


def load_table(path: Path) -> Table:
    """The table in `path` and in the section files that it includes, in their order.

    Raises DataError with every problem of every file. A table that loads has the right shape;
    whether it covers what it promises is for matrix.coverage to say.
    """
    heap = _Heap()
    schema = read_schema("egress-cases.schema.json")
    main = _add(heap, path, schema, main=True)
    for section in main.get("include", ()) if main else ():
        _add(heap, path.parent / section, schema, main=False)
    if heap.problems:
        raise DataError(heap.problems)
    return Table(
        mechanisms=tuple(heap.mechanisms), cases=tuple(heap.cases), untestable=tuple(heap.untestable)
    )


def _add(heap: _Heap, path: Path, schema: Mapping[str, Any], *, main: bool) -> Located | None:
    """Put one file's rows onto the heap; None where it is not fit to be read."""
    name = locate.shown(path)
    read = read_json(path, name)
    if isinstance(read, Unreadable):
        heap.problems.append(read.problem)
        return None
    content, twice = read
    problems = [
        *twice,
        *complaints(content, schema, _finder(content, name)),
        *_role(content, name, main=main),
    ]
    heap.problems += problems
    if problems:
        return None if any(p.kind == "wrong-type" for p in problems) else content
    heap.mechanisms += (Mechanism(**_frozen(row)) for row in content.get("mechanisms", ()))
    heap.cases += (_case(row, name) for row in content.get("cases", ()))
    heap.untestable += (
        Untestable(**_frozen(row), source=_at(row, name)) for row in content.get("untestable", ())
    )
    return content


def _role(content: Mapping[str, Any], name: str, *, main: bool) -> Iterator[Problem]:
    """A main file has mechanisms, a section file has none."""
    if main != ("mechanisms" in content):
        yield Problem(
            kind="not-a-table" if main else "not-a-section",
            where=Source(file=name, line=1),
            what="a table without mechanisms" if main else "a section file with mechanisms",
            do="give the main file, which includes this one" if main else "move them into the main file",
        )


def _finder(content: Located, name: str) -> Any:
    """Where a path leads: the line of the innermost object, the id of the outermost that has one."""

    def find(path: Sequence[str | int]) -> tuple[Source, str]:
        at: Any = content
        line, row = content.line, ""
        for part in path:
            at = at[part]
            if isinstance(at, Located):
                line, row = at.line, row or str(at.get("id", ""))
        return Source(file=name, line=line), row

    return find


def _at(row: Located, name: str) -> Source:
    return Source(file=name, line=row.line)


def _frozen(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row's values as a dataclass keeps them: lists become tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}  # type: ignore[misc]


def _case(row: Located, name: str) -> Case:
    known = {each.name for each in fields(Case)}
    values = {key: value for key, value in _frozen(row).items() if key in known}
    if "channels" in values:
        values["channels"] = frozenset(Channel(channel) for channel in values["channels"])
    return Case(**values, source=_at(row, name))
