"""Questions of rows are answered as a person's are, and nothing is asked of the network."""

from __future__ import annotations

import socket

import pytest

from runners.contract import Egress
from runners.tier1.lint import decide, lint


@pytest.fixture(autouse=True)
def deaf(monkeypatch: pytest.MonkeyPatch) -> None:
    """No question needs a socket or a resolver."""

    def refused(*_: object) -> None:
        raise AssertionError("a question that asks the network")

    monkeypatch.setattr(socket, "socket", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)


def test_fine_lists_have_no_fault() -> None:
    facts = {"manifest": ["wiki.corp.test", "*.api.test:*"], "tenant": ["10.0.0.0/8", "*.corp.test:8443"]}
    assert decide("lint", facts) == {"ok": True, "faults": []}
    assert decide("lint", {}) == {"ok": True, "faults": []}


def test_each_fault_says_list_entry_why_and_what_to_do() -> None:
    answer = decide(
        "lint", {"manifest": ["10.11.12.13", "a.test"], "tenant": ["169.254.169.254"], "principal": "agent"}
    )
    assert answer["ok"] is False
    assert [(each["list"], each["entry"]) for each in answer["faults"]] == [
        ("manifest", "10.11.12.13"),
        ("tenant", "169.254.169.254"),
    ]
    assert all(each["why"] and each["do"] for each in answer["faults"])


def test_what_a_file_made_a_number_of_is_a_fault_too() -> None:
    answer = decide("lint", {"manifest": [10.1, 443, None, ["a.test"]]})
    assert [each["entry"] for each in answer["faults"]] == ["10.1", "443", "None", "['a.test']"]


def test_an_agents_and_a_harness_entries_are_a_plugins() -> None:
    for principal in ("plugin", "agent", "harness"):
        assert lint(Egress(manifest=("10.11.12.13",), principal=principal))
        assert not lint(Egress(tenant=("10.11.12.13",), principal=principal))


def test_learn() -> None:
    denials = [
        {"kind": "private", "host": "wiki.test", "port": 443},
        {"kind": "special", "host": "md.test", "port": 80},
    ]
    assert decide("learn", {"denials": denials}) == {
        "proposals": [{"lists": ["tenant"], "entry": "wiki.test"}]
    }
    assert decide("learn", {"denials": []}) == {"proposals": []}


def test_show() -> None:
    denial = {
        "kind": "private",
        "host": "wiki.test\x1b[2J\n",
        "port": 443,
        "class": "private",
        "address": "10.1.2.3",
    }
    text = decide("show", {"denial": denial | {"fix": "add it"}})["text"]
    assert text == r"refused wiki.test\u{001B}[2J\u{000A}:443: private (private, 10.1.2.3); add it"
    assert (
        decide("show", {"denial": {"kind": "malformed", "host": "x", "port": 0}})["text"]
        == "refused x: malformed"
    )


def test_what_is_not_known_is_an_error() -> None:
    for question, facts in (("dig", {}), ("learn", {}), ("show", {}), ("show", {"denial": {}})):
        with pytest.raises(KeyError):
            decide(question, facts)
