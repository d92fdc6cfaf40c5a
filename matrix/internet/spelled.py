"""A row's values with addresses in place of symbols, wherever they stand in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from matrix.internet.addresses import addresses, spell


def spelled(value: Any) -> Any:
    """The same values; in a list, `$NAME*63` becomes so many. Raises KeyError for an unknown symbol."""
    match value:
        case str():
            return spell(value)
        case Mapping():
            given = cast("Mapping[str, Any]", value)
            return {key: spelled(inner) for key, inner in given.items()}
        case list() | tuple():
            return [*_each(cast("Sequence[Any]", value))]
        case _:
            return value


def _each(values: Sequence[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, str):
            yield from addresses(value)
        else:
            yield spelled(value)
