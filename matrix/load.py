"""From the table's files to values, with every mistake in every file told at once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from matrix import locate
from matrix.errors import DataError, Problem
from matrix.internet.addresses import symbols
from matrix.model import Case, Mechanism, Rule, Source, Table, Untestable
from matrix.positions import Located, Unreadable, read_json
from matrix.proxied import plain
from matrix.shape import Locate, Place, complaints
from runners.contract import Channel

SCHEMA = "egress-cases.schema.json"
RULES_SCHEMA = "rules.schema.json"


@dataclass
class _Rows:
    """What the files hold, and what is wrong with them, so far."""

    problems: list[Problem] = field(default_factory=list[Problem])
    mechanisms: list[Mechanism] = field(default_factory=list[Mechanism])
    cases: list[Case] = field(default_factory=list[Case])
    untestable: list[Untestable] = field(default_factory=list[Untestable])

    def take(self, content: Located, name: str) -> None:
        """Add a file that has the right shape."""
        for row in content.get("mechanisms", ()):
            self.mechanisms.append(Mechanism(**_frozen(row), source=_at(row, name)))
        for row in content.get("cases", ()):
            self.cases.append(_case(row, _at(row, name)))
        for row in content.get("untestable", ()):
            self.untestable.append(Untestable(**_frozen(row), source=_at(row, name)))


def load_table(path: Path) -> Table:
    """The table in `path` and in the section files that it includes, in their order.

    Raises DataError with every problem of every file. A table that loads has the right shape;
    whether it covers what it promises is for matrix.coverage to say.
    """
    rows = _Rows()
    schema = json.loads((locate.testdata() / SCHEMA).read_text(encoding="utf-8"))
    for section in _read(rows, path, schema, main=True):
        if (path.parent / section).is_file():
            _read(rows, path.parent / section, schema, main=False)
        else:
            where = Source(file=locate.shown(path), line=1)
            what, do = (
                f"include names {section!r}, which is no file",
                "correct the path, from this file's folder",
            )
            rows.problems.append(Problem(kind="no-file", where=where, what=what, do=do))
    if rows.problems:
        raise DataError(rows.problems)
    return Table(
        mechanisms=tuple(rows.mechanisms), cases=tuple(rows.cases), untestable=tuple(rows.untestable)
    )


def load_rules(path: Path) -> tuple[Rule, ...]:
    """The rules of the specification that rows name. Raises DataError with every problem of the file."""
    name = locate.shown(path)
    read = read_json(path, name)
    if isinstance(read, Unreadable):
        raise DataError([read.problem])
    content, twice = read
    schema = json.loads((locate.testdata() / RULES_SCHEMA).read_text(encoding="utf-8"))
    if problems := [*twice, *complaints(content, schema, _finder(content, name))]:
        raise DataError(problems)
    return tuple(Rule(**each, source=_at(each, name)) for each in content["rules"])


def _read(rows: _Rows, path: Path, schema: Mapping[str, Any], *, main: bool) -> tuple[str, ...]:
    """Add one file; the files that it includes, as far as it can be read."""
    name = locate.shown(path)
    read = read_json(path, name)
    if isinstance(read, Unreadable):
        rows.problems.append(read.problem)
        return ()
    content, twice = read
    found = [*twice, *complaints(content, schema, _finder(content, name)), *_role(content, name, main=main)]
    rows.problems += found
    if not found:
        rows.take(content, name)
    listed = content.get("include")
    return tuple(each for each in _list(listed) if isinstance(each, str))


def _role(content: Mapping[str, Any], name: str, *, main: bool) -> Iterator[Problem]:
    """A main file has mechanisms, a section file has none."""
    where = Source(file=name, line=1)
    if main and "mechanisms" not in content:
        what, do = "the file has no mechanisms", "give the main file, whose include names this one"
        yield Problem(kind="not-a-table", where=where, what=what, do=do)
    elif not main and "mechanisms" in content:
        what, do = "a section file has mechanisms", "move them, and version and include, to the main file"
        yield Problem(kind="not-a-section", where=where, what=what, do=do)


def _finder(content: Located, name: str) -> Locate:
    """Where a path leads: the line of the innermost object, and the outermost object with an id."""

    def find(path: Sequence[str | int]) -> Place:
        at: Any = content
        line, row, rest = content.line, "", path
        for depth, part in enumerate(cast("Sequence[Any]", path), 1):
            try:
                at = at[part]
            except (KeyError, TypeError):  # the complaint is about a key that has no value
                break
            if not isinstance(at, Located):
                continue
            line = at.line
            if not row:
                row, rest = str(at.get("id", "")), path[depth:]
        return Place(Source(file=name, line=line), row, rest)

    return find


def _at(row: Located, name: str) -> Source:
    return Source(file=name, line=row.line)


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _frozen(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row's values as a dataclass keeps them: lists become tuples."""
    return {key: tuple(_list(value)) if isinstance(value, list) else value for key, value in row.items()}


def _case(row: Mapping[str, Any], where: Source) -> Case:
    unseen = {symbol.name for symbol in symbols().values() if symbol.observe}
    said = plain(row, unseen)
    values = _frozen(said)
    values["channels"] = frozenset(Channel(channel) for channel in said.get("channels", ()))
    return Case(**values, source=where)
