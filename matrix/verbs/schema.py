"""escape-matrix schema: the schemas of what a person writes, for editors and hooks."""

from __future__ import annotations

import argparse
import json
from typing import Any

from matrix import locate
from matrix.verbs import Verbs, parser
from runners import registry

FILES = {"cases": "egress-cases.schema.json", "backends": "backends.schema.json"}


def add(verbs: Verbs) -> None:
    """The verb `schema`."""
    made = parser(
        verbs,
        "schema",
        act,
        what="""\
            Print a JSON Schema (draft 2020-12). With it an editor completes and checks rows and
            columns: name it as "$schema" in a JSON file, and for TOML in a first line
            `#:schema ./backends.schema.json`. That of backends holds the options of every runner.""",
        example="escape-matrix schema backends > backends.schema.json",
    )
    made.add_argument("what", choices=tuple(FILES), help="of the table's files, or of a file of columns")


def act(args: argparse.Namespace) -> int:
    """Print the schema."""
    schema = json.loads((locate.testdata() / FILES[args.what]).read_text(encoding="utf-8"))
    if args.what == "backends":
        _add_options(schema["$defs"]["backend"])
    print(json.dumps(schema, indent=2, ensure_ascii=False))
    return 0


def _add_options(backend: dict[str, Any]) -> None:
    """Say for each runner what its options are."""
    backend["properties"]["runner"]["examples"] = [*registry.names()]
    backend["allOf"] = [
        {
            "if": {"required": ["runner"], "properties": {"runner": {"const": name}}},
            "then": {"properties": {"options": runner.OPTIONS}},
        }
        for name in registry.names()
        if (runner := registry.runner_class(name))
    ]
