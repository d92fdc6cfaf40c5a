"""A JSON Schema's complaints, said as problems: where, what is wrong, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from jsonschema import Draft202012Validator, ValidationError

from matrix.errors import Problem
from matrix.model import Source


@dataclass(frozen=True)
class Place:
    """Where a value stands, the id of the row that it belongs to, and its path from there on."""

    where: Source
    row: str
    rest: Sequence[str | int]


FEW = 12  # names that a message can list

Locate = Callable[[Sequence[str | int]], Place]

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
    found: Iterable[ValidationError] = Draft202012Validator(schema).iter_errors(instance)  # pyright: ignore[reportUnknownMemberType] - untyped there
    for error in found:
        path = [*error.absolute_path]
        if "propertyNames" in error.absolute_schema_path:  # the complaint is about a key of that object
            path.append(str(error.instance))
        place = locate(path)
        at = _written(place.rest)
        said = _about_keys(error, at) or [_about_value(error, at or "it")]
        for kind, what, do in said:
            yield Problem(kind=kind, where=place.where, id=place.row, what=what, do=do)


def near(word: str, known: Iterable[str]) -> str:
    """What to do about a word that is not known: the nearest ones, or all of a few."""
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=3, cutoff=0.6)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return (
        f"use one of {', '.join(names)}" if 0 < len(names) <= FEW else "name one that exists: none is near it"
    )


def _written(path: Sequence[str | int]) -> str:
    """A path as a person writes it: args.address, platforms[0]."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


def _about_keys(error: ValidationError, at: str) -> list[tuple[str, str, str]]:
    """(kind, what, what to do) for keys too many or too few; nothing for other complaints."""
    schema = cast("Mapping[str, Any]", error.schema)
    inside = f" in {at}" if at else ""
    match error.validator:
        case "additionalProperties":
            known: Iterable[str] = schema.get("properties", {}).keys()
            extra: list[str] = [key for key in cast("Any", error.instance) if key not in known]
            return [("unknown-key", f"unknown key {key!r}{inside}", near(key, known)) for key in extra]
        case "required":
            missing = error.message.split("'")[1]  # one complaint each, and only its text says which
            return [("missing-key", f"no {missing!r}{inside}", "add it")]
        case "dependentRequired":
            return [("missing-key", error.message, "add it, or in a section file remove the other")]
        case _:
            return []


def _about_value(error: ValidationError, at: str) -> tuple[str, str, str]:
    """(kind, what, what to do) for a value that is not as asked."""
    schema = cast("Mapping[str, Any]", error.schema)
    asked: Any = error.validator_value
    value: Any = error.instance
    hint: str = schema.get("$comment", "")
    match error.validator:
        case "type":
            wanted: list[str] = [asked] if isinstance(asked, str) else asked
            names = " or ".join(_TYPES.get(name, name) for name in wanted)
            return "wrong-type", f"{at} is {_short(value)}", f"write {names}"
        case "enum":
            return "unknown-word", f"{at} is {_short(value)}", near(str(value), map(str, asked))
        case "const":
            return "unknown-word", f"{at} is {_short(value)}", f"write {asked!r}"
        case "pattern":
            return "bad-name", f"{at} is {_short(value)}", hint or f"match {asked}"
        case "contains":
            return "missing-entry", f"{at} lacks {asked.get('const', asked)!r}", hint or "add it"
        case "minItems" | "minLength" | "minProperties":
            return "empty", f"{at} is empty", "fill it in, or leave the key out where it may be left out"
        case "uniqueItems":
            return "repeated-entry", f"{at} names something twice", "keep each once"
        case "maximum":
            return "out-of-range", f"{at} is {_short(value)}", f"keep it at {asked} or less"
        case "exclusiveMinimum":
            return "out-of-range", f"{at} is {_short(value)}", f"keep it above {asked}"
        case _:
            return "out-of-range", f"{at}: {error.message}", hint or f"keep to {error.validator} {asked}"


def _short(value: Any) -> str:
    """A value as a message quotes it, in about half a line."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"  # noqa: PLR2004
