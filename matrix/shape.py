"""A JSON Schema's complaints, said as problems: where, what is wrong, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from jsonschema import Draft202012Validator, ValidationError

from matrix.errors import Problem
from matrix.model import Source

Locate = Callable[[Sequence[str | int]], tuple[Source, str]]
"""From the path of a value to where it stands, and the id of the row that it belongs to."""

_TYPES = {
    "object": "an object",
    "array": "a list",
    "string": "a text in quotes",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
}


def complaints(instance: Any, schema: Mapping[str, Any], locate: Locate) -> Iterator[Problem]:
    """Every way in which `instance` is not what the schema asks for."""
    found: Iterable[ValidationError] = Draft202012Validator(schema).iter_errors(instance)  # type: ignore[no-untyped-call]
    for error in found:
        path = [*error.absolute_path]
        where, row = locate(path)
        at = _written(path)
        for kind, what, do in _said(error, at):
            yield Problem(kind=kind, where=where, id=row, what=what, do=do)


def near(word: str, known: Iterable[str]) -> str:
    """What to do about a word that is not known: the nearest ones, or all of them."""
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=3, cutoff=0.6)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"use one of {', '.join(names)}" if names else "none is known"


def _written(path: Sequence[str | int]) -> str:
    """A path as a person writes it, from the row on: args.address, platforms[0]."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.lstrip(".") or "the file"


def _said(error: ValidationError, at: str) -> Iterator[tuple[str, str, str]]:
    """(kind, what, what to do) of one complaint."""
    value: Any = error.instance
    asked: Any = error.validator_value
    match error.validator:
        case "additionalProperties":
            known = error.schema.get("properties", {})
            for key in value.keys() - known.keys():
                yield "unknown-key", f"{at} has no key {key!r}", near(key, known)
        case "required" | "dependentRequired":
            yield "missing-key", f"{at}: {error.message}", "add it"
        case "type":
            wanted = [asked] if isinstance(asked, str) else asked
            names = " or ".join(_TYPES.get(name, name) for name in wanted)
            yield "wrong-type", f"{at} is {_short(value)}", f"write {names}"
        case "enum":
            yield "unknown-word", f"{at} is {_short(value)}", near(str(value), map(str, asked))
        case "const":
            yield "unknown-word", f"{at} is {_short(value)}", f"write {asked!r}"
        case "pattern":
            hint = error.schema.get("$comment", f"match {asked}")
            yield "bad-shape", f"{at} is {_short(value)}", hint
        case "minItems" | "minLength" | "minProperties":
            yield "empty", f"{at} is empty", "fill it in, or leave the key out if it may be left out"
        case "uniqueItems":
            yield "repeated-entry", f"{at} names something twice", "keep each once"
        case _:
            yield "out-of-range", f"{at}: {error.message}", f"keep to {error.validator} {asked}"


def _short(value: Any) -> str:
    text = repr(dict(value) if isinstance(value, dict) else value)  # type: ignore[arg-type]
    return text if len(text) <= 60 else text[:57] + "…"  # noqa: PLR2004 - a line of a message
