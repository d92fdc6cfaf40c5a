"""From a file of columns to values. One TOML table is one column."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from matrix import locate
from matrix.errors import DataError, Problem
from matrix.model import Backend, Claim, Listed, Source
from matrix.positions import Unreadable, read_toml
from matrix.shape import Locate, Place, complaints
from runners.contract import Runner
from runners.registry import runner_class

SCHEMA = "backends.schema.json"

Runners = Callable[[str], type[Runner] | None]
"""From a runner's name to its class, None where there is no such runner."""


def load_backends(path: Path, runners: Runners = runner_class) -> tuple[Backend, ...]:
    """The columns of a file, in its order. Raises DataError with every problem in it."""
    name = locate.shown(path)
    read = read_toml(path, name)
    if isinstance(read, Unreadable):
        raise DataError([read.problem])
    tables, lines = read
    schema = json.loads((locate.testdata() / SCHEMA).read_text(encoding="utf-8"))

    def find(path: Sequence[str | int]) -> Place:
        table = str(path[0]) if path else ""
        return Place(Source(file=name, line=lines.get(table, 1)), table, path[1:])

    problems = [*complaints(tables, schema, find)]
    for id_, table in tables.items():
        if isinstance(table, dict):
            problems += _options(id_, cast("Mapping[str, Any]", table), runners, find)
    if problems:
        raise DataError(problems)
    ours = path.resolve() == locate.backends().resolve()
    return tuple(_backend(id_, table, find([id_]).where, built_in=ours) for id_, table in tables.items())


def make_runner(backend: Backend) -> Runner:
    """The runner of a column that was loaded."""
    runner = runner_class(backend.runner)
    if runner is None:
        raise KeyError(backend.runner)  # load_backends has refused it
    return runner(backend.options)


def _options(id_: str, table: Mapping[str, Any], runners: Runners, find: Locate) -> Iterator[Problem]:
    """What the runner says about its options: by its schema, then by taking them."""
    name = table.get("runner")
    if not isinstance(name, str):
        return  # the schema has said so
    where = find([id_]).where
    runner = runners(name)
    if runner is None:
        what = f"there is no runner {name!r}"
        do = 'name a file of runners/, or write runner = "command" and an argv template'
        yield Problem(kind="unknown-runner", where=where, id=id_, what=what, do=do)
        return
    options: Any = table.get("options", {})
    shape = {"properties": {id_: {"properties": {"options": runner.OPTIONS}}}}
    found = [*complaints({id_: {"options": options}}, shape, find)]
    yield from found
    if not found:
        try:
            runner(options)
        except ValueError as error:
            yield Problem(kind="bad-option", where=where, id=id_, what=str(error), do="change the options")


def _backend(id_: str, table: Mapping[str, Any], source: Source, *, built_in: bool) -> Backend:
    plain = {key: table[key] for key in ("title", "runner", "default", "wide_open", "only") if key in table}
    return Backend(
        **plain,
        id=id_,
        platforms=tuple(table["platforms"]),
        options=table.get("options", {}),
        claims=_claim(table.get("claims")),
        listed={case: _listed(said) for case, said in table.get("listed", {}).items()},
        built_in=built_in,
        source=source,
    )


def _claim(claims: Any) -> Claim | None:
    match claims:
        case None:
            return None
        case {"closes": closes, **rest}:
            more = cast("dict[str, Any]", rest)
            return Claim(
                closes=tuple(cast("list[str]", closes)),
                but=tuple(more.get("but", ())),
                source=str(more.get("source", "")),
            )
        case _:
            return Claim(closes=tuple(claims))


def _listed(said: str | Mapping[Any, str]) -> Listed:
    """A reason alone, or a table of one entry that says when it holds."""
    if isinstance(said, str):
        return Listed(why=said)
    [(only, why)] = said.items()
    return Listed(why=why, only=only)
