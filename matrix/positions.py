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
from typing import Any, cast

from matrix.errors import Problem
from matrix.model import Source


class Located(dict[str, Any]):
    """A JSON object, the line that it begins on, and where in the text it ends."""

    line: int = 0
    end: int = 0


@dataclass(frozen=True)
class Unreadable:
    """Why a file gives nothing to look at."""

    problem: Problem


class _Decoder(json.JSONDecoder):
    """The standard decoder with its scanner in Python, which lets us see where each object begins."""

    def __init__(self, file: str) -> None:
        super().__init__(parse_constant=_no_number)
        self.file = file
        self.twice: list[Problem] = []
        self.parse_object = self._object
        self.scan_once: Any = json.scanner.py_make_scanner(self)  # type: ignore[attr-defined] # not in the stubs

    def _object(self, at: tuple[str, int], strict: Any, scan: Any, *_hooks: Any) -> tuple[Located, int]:
        parse: Any = json.decoder.JSONObject  # type: ignore[attr-defined] # not in the stubs
        pairs, end = cast("tuple[list[tuple[str, Any]], int]", parse(at, strict, scan, None, list))
        found = Located(pairs)
        found.line, found.end = at[0].count("\n", 0, at[1]) + 1, end
        if len(found) < len(pairs):
            self._repeated(found, [key for key, _ in pairs])
        return found, end

    def _repeated(self, found: Located, keys: list[str]) -> None:
        where, row = Source(file=self.file, line=found.line), str(found.get("id", ""))
        for key in found:
            if (times := keys.count(key)) > 1:
                what = f"the key {key!r} stands here {times} times"
                self.twice.append(
                    Problem(kind="repeated-key", where=where, id=row, what=what, do="keep one of them")
                )


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def read_json(path: Path, name: str) -> tuple[Located, list[Problem]] | Unreadable:
    """The object in a JSON file, and the keys that it repeats. `name` is what messages call it."""
    text = _text(path, name)
    if isinstance(text, Unreadable):
        return text
    decoder = _Decoder(name)
    try:
        found = decoder.decode(text)
    except json.JSONDecodeError as error:
        what = f"{error.msg.lower()} (column {error.colno})"
        return _unreadable("not-json", name, error.lineno, what, "put the JSON right there, or just before")
    except (ValueError, RecursionError) as error:
        return _unreadable("not-json", name, 1, str(error), "write plain JSON")
    if not isinstance(found, Located):
        return _unreadable("not-an-object", name, 1, "the file holds no object", "put it all into one { … }")
    return found, decoder.twice


def read_toml(path: Path, name: str) -> tuple[Mapping[str, Any], Mapping[str, int]] | Unreadable:
    """The tables of a TOML file, and the line of each top-level table's header."""
    text = _text(path, name)
    if isinstance(text, Unreadable):
        return text
    try:
        return tomllib.loads(text), _headers(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        at = re.search(r" \(at line (\d+), column \d+\)", str(error))
        line = int(at[1]) if at else text.count("\n") + 1
        what = str(error).replace(at[0] if at else "", "").lower()
        return _unreadable("not-toml", name, line, what, "put the TOML right there, or just before")


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
        return _unreadable("not-text", name, 1, f"byte {error.start} is no UTF-8", "save the file as UTF-8")
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        why = error.strerror if isinstance(error, OSError) else ""
        what = f"the file cannot be read: {(why or str(error)).lower()}"
        return _unreadable("no-file", name, 0, what, "check the path and who may read it")


def _unreadable(kind: str, name: str, line: int, what: str, do: str) -> Unreadable:
    return Unreadable(Problem(kind=kind, where=Source(file=name, line=line), what=what, do=do))
