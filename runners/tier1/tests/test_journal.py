"""What is kept of refusals and dials, and what is said of what is not."""

from __future__ import annotations

import json

from runners.contract import Denial
from runners.tier1.journal import Journal

DENIAL = Denial(kind="private", host="a\x1b.test", port=443, address_class="private", address="10.11.12.13")


def test_the_newest_are_kept_and_the_loss_is_said() -> None:
    journal = Journal(most=3)
    for port in range(5):
        journal.deny(Denial(kind="unlisted", host="a.test", port=port))
        journal.dial(f"11.22.33.44:{port}")
    assert [each.port for each in journal.denials] == [2, 3, 4]
    assert journal.dials == ("11.22.33.44:2", "11.22.33.44:3", "11.22.33.44:4")
    lines = [json.loads(line) for line in journal.text().splitlines()]
    assert lines[0] == {"event": "lost", "lines": 4}
    assert len(lines) == 1 + 6


def test_a_hundred_thousand_refusals_are_kept() -> None:
    journal = Journal()
    for _ in range(100_000):
        journal.deny(DENIAL)
    assert len(journal.denials) == 100_000
    assert len({id(each) for each in journal.denials}) == 1  # equal ones share their memory
    assert not journal.lost


def test_the_log_has_the_address_and_is_ascii() -> None:
    journal = Journal()
    journal.note("lists", manifest=("a.test",))
    journal.deny(DENIAL)
    assert journal.text().isascii()
    assert "\x1b" not in journal.text()
    lists, refused = (json.loads(line) for line in journal.text().splitlines())
    assert (lists["event"], lists["manifest"]) == ("lists", ["a.test"])
    assert (refused["event"], refused["address"], refused["host"]) == ("refused", "10.11.12.13", "a\x1b.test")
    assert lists["time"].endswith("+00:00")
