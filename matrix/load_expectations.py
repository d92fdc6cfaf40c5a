"""From a file of expectations to values. One TOML table is one entry."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, cast

from matrix import locate
from matrix.errors import DataError, Problem
from matrix.expectation import Expectation, Match
from matrix.model import Reason, Source
from matrix.positions import Unreadable, read_toml
from matrix.shape import Locate, Place, complaints

SCHEMA = "expectations.schema.json"


def load_expectations(path: Path) -> tuple[Expectation, ...]:
    """The entries of a TOML file, one table each. Raises DataError with every problem in it."""
    name = locate.shown(path)
    read = read_toml(path, name)
    if isinstance(read, Unreadable):
        raise DataError([read.problem])
    content, lines = read
    schema = json.loads((locate.testdata() / SCHEMA).read_text(encoding="utf-8"))

    def find(path: Sequence[str | int]) -> Place:
        table = str(path[0]) if path else ""
        return Place(Source(file=name, line=lines.get(table, 1)), table, path[1:])

    tables = {key: _as_json(table) for key, table in content.items()}
    problems = [*complaints(tables, schema, find)]
    problems = problems or [*_rules(tables, find)]
    if problems:
        raise DataError(problems)
    return tuple(_entry(id_, table, find([id_]).where) for id_, table in tables.items())


def _as_json(table: Any) -> Any:
    """A table as JSON has it: a TOML date becomes its text."""
    if not isinstance(table, dict):
        return table
    given = cast("Mapping[str, Any]", table)
    return {key: str(value) if type(value) is date else value for key, value in given.items()}


def _rules(tables: Mapping[str, Any], find: Locate) -> Iterator[Problem]:
    """What the schema cannot say."""
    for id_, table in tables.items():
        where = find([id_]).where
        if table["expect"] != "held" and "accept" in table:
            what = f"accept is for requirements, and this entry expects {table['expect']}"
            yield Problem(kind="misplaced-key", where=where, id=id_, what=what, do="remove accept")
        try:
            date.fromisoformat(table.get("expires", "2000-01-01"))
        except ValueError:
            what = f"expires is {table['expires']!r}, which is no day"
            yield Problem(kind="bad-date", where=where, id=id_, what=what, do="write expires = 2027-01-31")


def _entry(id_: str, table: Mapping[str, Any], source: Source) -> Expectation:
    expires = table.get("expires")
    return Expectation(
        id=id_,
        match=Match(**table["match"]),
        expect=table["expect"],
        reason=table["reason"],
        owner=table["owner"],
        issue=table.get("issue", ""),
        expires=date.fromisoformat(expires) if expires else None,
        accept=frozenset(Reason(reason) for reason in table.get("accept", ())),
        source=source,
    )
