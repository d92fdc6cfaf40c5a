"""JSON and TOML with line numbers, which the standard parsers do not keep."""

from __future__ import annotations

import json
import json.decoder
import json.scanner
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matrix.errors import Problem
from matrix.model import Source


class Located(dict[str, Any]):
    """An object and the line that it begins on."""

    line: int = 0


@dataclass(frozen=True)
class Unreadable:
    """Why there is nothing to look at."""

    problem: Problem


class _Decoder(json.JSONDecoder):
    """The standard decoder with its pure-Python scanner, told to note where each object begins."""

    def __init__(self, file: str) -> None:
        super().__init__(parse_constant=self._no_number)
        self.file = file
        self.twice: list[Problem] = []
        self.parse_object = self._object
        self.scan_once = json.scanner.py_make_scanner(self)  # type: ignore[attr-defined] # public, untyped

    @staticmethod
    def _no_number(name: str) -> Any:
        raise ValueError(f"{name} is no JSON number")

    def _object(
        self, at: tuple[str, int], strict: bool, scan: Any, _hook: Any, _pairs: Any, memo: Any
    ) -> Any:  # noqa: FBT001 - the scanner's signature
        pairs, end = json.decoder.JSONObject(at, strict, scan, None, list, memo)  # type: ignore[attr-defined] # as above
        found = Located(pairs)
        found.line = at[0].count("\n", 0, at[1]) + 1
        keys = [key for key, _ in pairs]
        self.twice += [
            Problem(
                kind="repeated-key",
                where=Source(file=self.file, line=found.line),
                id=str(found.get("id", "")),
                what=f"the key {key!r} stands here {keys.count(key)} times",
                do="keep one of them",
            )
            for key in dict.fromkeys(keys)
            if keys.count(key) > 1
        ]
        return found, end


def read_json(path: Path, name: str) -> tuple[Located, list[Problem]] | Unreadable:
    """The object in a JSON file, and the keys that it repeats. `name` is what messages call it."""
    text = _text(path, name)
    if isinstance(text, Unreadable):
        return text
    decoder = _Decoder(name)
    try:
        found = decoder.decode(text)
    except json.JSONDecodeError as error:
        return _unreadable(
            "not-json", name, error.lineno, f"{error.msg} at column {error.colno}", "write JSON"
        )
    except (ValueError, RecursionError) as error:
        return _unreadable("not-json", name, 0, str(error), "write JSON")
    if not isinstance(found, Located):
        return _unreadable(
            "not-an-object", name, 1, "the file holds no object", "put everything into one { … }"
        )
    return found, decoder.twice


def read_toml(path: Path, name: str) -> tuple[Mapping[str, Any], Mapping[str, int]] | Unreadable:
    """The tables of a TOML file, and the line of each top-level table's header."""
    text = _text(path, name)
    if isinstance(text, Unreadable):
        return text
    try:
        return tomllib.loads(text), _headers(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        line = re.search(r"at line (\d+)", str(error))
        return _unreadable("not-toml", name, int(line[1]) if line else 0, str(error), "write TOML")


def _headers(text: str) -> dict[str, int]:
    """The line on which each top-level key is first heard of.

    A document may be cut before any header, and each part is a document again; a line that only
    looks like a header (in a long string or list) cuts at a place where the part does not parse.
    """
    lines = text.split("\n")
    cuts = [number for number, line in enumerate(lines) if line.lstrip().startswith("[")]
    found: dict[str, int] = {}
    begin = 0
    for cut in [*cuts, len(lines)]:
        try:
            part = tomllib.loads("\n".join(lines[begin:cut]))
        except tomllib.TOMLDecodeError:
            continue
        for key in part:
            found.setdefault(key, begin + 1)
        begin = cut
    return found


def _text(path: Path, name: str) -> str | Unreadable:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        return _unreadable("not-text", name, 0, f"byte {error.start} is no UTF-8", "save the file as UTF-8")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        return _unreadable(
            "no-file", name, 0, f"the file cannot be read: {why}", "check the path and its mode"
        )


def _unreadable(kind: str, name: str, line: int, what: str, do: str) -> Unreadable:
    return Unreadable(Problem(kind=kind, where=Source(file=name, line=line), what=what, do=do))
