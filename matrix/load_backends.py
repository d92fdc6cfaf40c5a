"""From a file of columns to values. One TOML table is one column."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from matrix import locate
from matrix.errors import DataError, Problem
from matrix.model import Backend, Claim, Source
from matrix.positions import Unreadable, read_toml
from matrix.shape import complaints

Options = Callable[[str], Mapping[str, Any] | None]
"""From a runner's name to the JSON Schema of its options, None where there is no such runner."""


def runner_options(name: str) -> Mapping[str, Any] | None:
    """What the runner of that name takes, from the runner's own class."""
    if not name.isidentifier() or name in {"contract", "tests"}:
        return None
    try:
        module = importlib.import_module(f"runners.{name}")
    except ModuleNotFoundError:
        return None
    runner = getattr(module, "Runner", None)
    return None if runner is None else runner.OPTIONS


def load_backends(path: Path, options: Options = runner_options) -> tuple[Backend, ...]:
    """The columns of a file, in its order. Raises DataError with every problem in it."""
    name = locate.shown(path)
    read = read_toml(path, name)
    if isinstance(read, Unreadable):
        raise DataError([read.problem])
    content, lines = read
    tables = {key: value for key, value in content.items() if key != "$schema"}
    schema = json.loads((locate.testdata() / "backends.schema.json").read_text(encoding="utf-8"))

    def find(at: Sequence[str | int]) -> tuple[Source, str]:
        table = str(at[0]) if at else ""
        return Source(file=name, line=lines.get(table, 1)), table

    problems = [*complaints(tables, schema, find)]
    for id_, table in tables.items():
        if isinstance(table, dict):
            problems += _options(id_, table, options, find)  # type: ignore[arg-type]
    if problems:
        raise DataError(problems)
    return tuple(_backend(id_, table, find([id_])[0]) for id_, table in tables.items())


def _options(id_: str, table: Mapping[str, Any], options: Options, find: Any) -> Iterator[Problem]:
    """What the runner says about its options."""
    runner = table.get("runner")
    if not isinstance(runner, str):
        return  # the schema has said so
    asked = options(runner)
    if asked is None:
        yield Problem(
            kind="unknown-runner",
            where=find([id_])[0],
            id=id_,
            what=f"there is no runner {runner!r}",
            do='use a file of runners/ or, for any program, runner = "command"',
        )
        return
    given = {id_: {"options": table.get("options", {})}}
    shape = {"properties": {id_: {"properties": {"options": asked}}}}
    yield from complaints(given, shape, find)


def _backend(id_: str, table: Mapping[str, Any], source: Source) -> Backend:
    claims = table.get("claims")
    match claims:
        case None:
            claim = None
        case dict():
            claim = Claim(closes=tuple(claims["closes"]), source=claims.get("source", ""))
        case _:
            claim = Claim(closes=tuple(claims))
    plain = {key: table[key] for key in ("title", "runner", "default", "wide_open", "listed") if key in table}
    return Backend(
        **plain,
        id=id_,
        platforms=tuple(table["platforms"]),
        options=table.get("options", {}),
        claims=claim,
        source=source,
    )
