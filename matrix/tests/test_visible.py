"""Nothing that a sandbox says steers a terminal, hides, or turns the text round."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.visible import markdown, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, as it is", "plain text, as it is"),
        ("Zürich → 東京", "Zürich → 東京"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b2J", "\\x9b2J"),
        ("one\ntwo\r\tthree", "one\\ntwo\\r\\tthree"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("a\u200bb\ufeff\u2028", "a\\u200bb\\ufeff\\u2028"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("\u3164\u2800", "\\u3164\\u2800"),
        ("e\u0301", "e\\u0301"),
        ("a\u00a0b", "a\\xa0b"),
        ("\\x1b", "\\\\x1b"),
    ],
)
def test_what_would_not_be_seen_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_an_old_terminal_gets_ascii() -> None:
    assert visible("Zürich →", ascii_only=True) == "Z\\xfcrich \\u2192"
    assert visible("x" * 30, 10, ascii_only=True) == "xxxxxxxxxx... (20 more)"


@given(st.text(st.characters(), max_size=60), st.booleans())
def test_only_visible_characters_come_out(text: str, ascii_only: bool) -> None:  # noqa: FBT001
    shown = visible(text, ascii_only=ascii_only)
    assert shown.isprintable()
    assert not ascii_only or shown.isascii()
    assert not [
        each for each in shown if unicodedata.bidirectional(each) in {"RLO", "LRO", "RLE", "LRE", "RLI"}
    ]


@given(st.text(max_size=20), st.text(max_size=20))
def test_two_texts_never_look_the_same(one: str, other: str) -> None:
    assert (visible(one) == visible(other)) == (one == other)


def test_it_is_bounded() -> None:
    assert len(visible("\U000e0001" * 10_000_000)) < 6_000


def test_markdown_is_inert() -> None:
    shown = markdown("a|b `c` <script> [x](http://y) *z* \n# h")
    assert "\n" not in shown
    assert "<" not in shown
    assert "\\|" in shown
    assert "\\[x\\]\\(" in shown
