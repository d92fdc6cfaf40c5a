"""Whatever stands in a file of rows or columns, the answer is values or a DataError."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from matrix import locate, material
from matrix.coverage import broken, gaps
from matrix.errors import DataError
from matrix.load import load_table
from matrix.load_backends import load_backends

GOOD = locate.testdata() / "bad_rows" / "good"
TABLE = json.loads((GOOD / "table.json").read_text())
COLUMNS = (GOOD / "columns.toml").read_text()
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from _places(each, (*path, key))


@pytest.fixture(scope="module")
def shipped() -> Any:
    return material.shipped(complete=True)


@QUICK
@given(place=st.sampled_from([*_places(TABLE)]), value=ANYTHING)
def test_any_value_anywhere_in_a_table(
    place: tuple[Any, ...], value: Any, tmp_path: Path, shipped: Any
) -> None:
    content = copy.deepcopy(TABLE)
    if place:
        at = content
        for key in place[:-1]:
            at = at[key]
        at[place[-1]] = value
    else:
        content = value
    file = tmp_path / "table.json"
    file.write_text(json.dumps(content))
    with contextlib.suppress(DataError):
        found = load_table(file)
        for problem in (*broken(found, shipped), *gaps(found, shipped)):
            assert len(str(problem).splitlines()) == 1


@QUICK
@given(
    begin=st.integers(0, len(COLUMNS)),
    length=st.integers(0, 12),
    put=st.sampled_from(
        ["", "[", "]", '"', "{", "}", "=", "\n", "1", "true", "[x]\n", "x.y = 1979-05-27\n", "\0", "\ud800"]
    )
    | st.text(max_size=6),
)
def test_any_cut_anywhere_in_columns(begin: int, length: int, put: str, tmp_path: Path) -> None:
    file = tmp_path / "columns.toml"
    text = COLUMNS[:begin] + put + COLUMNS[begin + length :]
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    with contextlib.suppress(DataError):
        for column in load_backends(file):
            assert column.source.line > 0
