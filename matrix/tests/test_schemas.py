"""The schemas and the Python types say the same, both ways."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator

from matrix import cli, locate
from matrix.model import PLACES, PLATFORMS, Backend, Case, Claim, Mechanism, Subject, Twin, Untestable
from runners import registry
from runners.contract import Channel

TABLE = json.loads((locate.testdata() / "egress-cases.schema.json").read_text())
COLUMNS = json.loads((locate.testdata() / "backends.schema.json").read_text())
CASE = TABLE["$defs"]["case"]["properties"]


@pytest.mark.parametrize("schema", [TABLE, COLUMNS], ids=["table", "columns"])
def test_a_schema_is_a_schema(schema: Mapping[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize(
    ("shape", "type_", "not_written"),
    [
        (TABLE["$defs"]["case"], Case, {"source", "allowed", "policy", "answers", "expect"}),  # those: plant
        (TABLE["$defs"]["mechanism"], Mechanism, {"source"}),
        (TABLE["$defs"]["untestable"], Untestable, {"source"}),
        (COLUMNS["$defs"]["backend"], Backend, {"source", "id", "built_in"}),  # id: the table's name
        (COLUMNS["$defs"]["backend"]["properties"]["claims"], Claim, set[str]()),
    ],
    ids=["case", "mechanism", "untestable", "backend", "claim"],
)
def test_properties_are_the_fields(shape: Mapping[str, Any], type_: Any, not_written: set[str]) -> None:
    assert set(shape["properties"]) ^ {field.name for field in fields(type_)} == not_written
    assert shape["additionalProperties"] is False


@pytest.mark.parametrize(
    ("enum", "words"),
    [
        (CASE["channels"]["items"]["enum"], [channel.value for channel in Channel]),
        (CASE["place"]["enum"], PLACES),
        (CASE["twin"]["enum"], get_args(Twin)),
        (CASE["subject"]["enum"], get_args(Subject)),
        (TABLE["$defs"]["platforms"]["items"]["enum"], PLATFORMS),
        (COLUMNS["$defs"]["backend"]["properties"]["platforms"]["items"]["enum"], PLATFORMS),
        (COLUMNS["$defs"]["backend"]["properties"]["only"]["enum"], [channel.value for channel in Channel]),
    ],
    ids=["channels", "places", "twins", "subjects", "platforms", "platforms of columns", "only"],
)
def test_enums_are_the_words(enum: list[str], words: tuple[str, ...]) -> None:
    assert sorted(enum) == sorted(words)


def test_a_case_names_only_platforms_that_attacks_have_code_for() -> None:
    assert set(CASE["platforms"]["items"]["enum"]) < set(PLATFORMS)


def test_what_a_row_must_say_is_what_has_no_default() -> None:
    must = set(TABLE["$defs"]["case"]["required"])
    assert {field.name for field in fields(Case) if _no_default(field)} <= must


def _no_default(field: Any) -> bool:
    return repr(field.default) == repr(field.default_factory)  # both MISSING


def _properties(schema: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(schema, dict):
        for name, shape in schema.get("properties", {}).items():
            yield f"{path}.{name}", shape
        for key, inner in schema.items():
            yield from _properties(inner, f"{path}.{key}")


def _described(schema: Any, shape: Any) -> str:
    """Where it stands, or where it refers to."""
    if "description" in shape or "$ref" not in shape:
        return shape.get("description", "").strip()
    for part in shape["$ref"].removeprefix("#/").split("/"):
        schema = schema[part]
    return schema.get("description", "").strip()


@pytest.mark.parametrize("schema", [TABLE, COLUMNS], ids=["table", "columns"])
def test_every_property_is_described(schema: Mapping[str, Any]) -> None:
    found = dict(_properties(schema))
    assert found
    assert [path for path, shape in found.items() if not _described(schema, shape)] == []


def test_the_printed_schema_of_columns_knows_every_runner(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["schema", "backends"]) == 0
    schema = json.loads(capsys.readouterr().out)
    Draft202012Validator.check_schema(schema)
    column = {"title": "x", "runner": "command", "platforms": ["linux"], "options": {"argv": ["{command}"]}}
    check = Draft202012Validator(schema)
    assert check.is_valid({"mine": column})
    assert not check.is_valid({"mine": {**column, "options": {"argv": ["x"]}}})
    assert len(schema["$defs"]["backend"]["allOf"]) == len(registry.names())
