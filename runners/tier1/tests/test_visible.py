"""Nothing that was asked for steers the terminal on which the record is read."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.tier1.visible import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("api.allowed.test", "api.allowed.test"),
        ("bücher.test 東京", "bücher.test 東京"),
        ("\x1b]52;c;eA==\x07", r"\u{001B}]52;c;eA==\u{0007}"),
        ("\x9b2J\x7f", r"\u{009B}2J\u{007F}"),
        ("a\r\nb\tc", r"a\u{000D}\u{000A}b\u{0009}c"),
        ("\u202egnp.exe\u2066", r"\u{202E}gnp.exe\u{2066}"),
        ("a\u200bb\ufeff\u2028\u00ad", r"a\u{200B}b\u{FEFF}\u{2028}\u{00AD}"),
        ("\U000e0041", r"\u{E0041}"),
        ("\ud800", r"\u{D800}"),
        ("a\u20dd", r"a\u{20DD}"),
        ("\u3164\u2800e\u0301", r"\u{3164}\u{2800}e\u{0301}"),
        (r"\u{001B}", r"\u{001B}"),
    ],
)
def test_what_would_not_be_seen_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text(alphabet=[chr(each) for each in range(0x20, 0x7F)]))
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


@given(st.text())
def test_all_that_is_left_is_seen_and_stays(text: str) -> None:
    shown = visible(text)
    assert visible(shown) == shown
    assert shown.isprintable()
    assert not [
        each
        for each in shown
        if unicodedata.category(each) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Mn", "Me"}
    ]


def test_less_is_noticed() -> None:
    """Escape sequences alone are not enough, nor is what repr() does."""
    for double in (lambda text: text.replace("\x1b", r"\u{001B}"), lambda text: repr(text)[1:-1]):
        assert double("\u0301") != visible("\u0301")
        assert double("\u3164") != visible("\u3164")
