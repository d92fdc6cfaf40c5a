"""Writes out what a person would not see: control, invisible and direction characters become escapes."""

from __future__ import annotations

import unicodedata

_BLANK_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # printable by name, and drawn as nothing
_MARKS = frozenset({"Mn", "Me"})  # they pile up on what stands before them


def visible(text: str) -> str:
    r"""`text` on one line of characters that are seen, the others as `\u{001B}`.

    Text that has been written out stays as it is, so that a record can be shown again.
    """
    return "".join(each if _seen(each) else f"\\u{{{ord(each):04X}}}" for each in text)


def _seen(character: str) -> bool:
    if character in _BLANK_LETTERS or unicodedata.category(character) in _MARKS:
        return False
    return character.isprintable()
