"""Makes visible what came out of a sandbox, before a person or a terminal reads it.

What an attack prints may steer the terminal it is shown on, turn the reading order round or hide
a part of itself. Every such character is written out as an escape; the backslash too, so that an
escape in the text cannot be taken for one of ours.
"""

from __future__ import annotations

import unicodedata

LIMIT = 500
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}
_BLANK_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # printable by name, and drawn as nothing
_MARKS = frozenset({"Mn", "Me"})  # they pile up on what stands before them


def visible(text: str, limit: int = LIMIT, *, ascii_only: bool = False) -> str:
    """`text` on one line of visible characters, cut at `limit` of its characters.

    `ascii_only` is for a terminal that can show nothing else.
    """
    written = "".join(_written(character, ascii_only=ascii_only) for character in text[:limit])
    left = len(text) - limit
    return f"{written}{'...' if ascii_only else '…'} ({left} more)" if left > 0 else written


def _written(character: str, *, ascii_only: bool) -> str:
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if " " <= character <= "~":
        return character
    hidden = character in _BLANK_LETTERS or unicodedata.category(character) in _MARKS
    if character.isprintable() and not hidden and not ascii_only:
        return character
    if code < 0x100:  # noqa: PLR2004 - the widths of the escapes
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"  # noqa: PLR2004


def markdown(text: str, limit: int = LIMIT) -> str:
    """`text` as Markdown that shows it as it is: no markup, no table, no link, one line."""
    shown = visible(text, limit).replace("\\", "\\\\")
    shown = shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join(f"\\{each}" if each in "`*_[]()#!|~@" else each for each in shown)
