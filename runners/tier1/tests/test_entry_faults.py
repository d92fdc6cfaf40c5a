"""What is no entry, or opens nothing where it stands, is a fault that says why and what to do."""

# ruff: noqa: RUF001 - letters that look like others are what is tested

from __future__ import annotations

from ipaddress import ip_network

import pytest

from runners.tier1.entries import Entry, Fault, parse_entry, reach
from runners.tier1.hosts import Malformed, read_host
from runners.tier1.visible import visible

FAULTS = {
    "": "empty",
    "*": "*",
    "*.": "*",
    "*.*": "*",
    "*.test": "two labels",
    "*.test.": "two labels",
    "**.allowed.test": "*",
    "*x.test": "*",
    "api.*.test": "first label",
    "api.test.*": "first label",
    "*.*.test": "*",
    "*.10.11.12.13": "names, never addresses",
    "*.12.13": "number",
    "*.[fd12::5]": "two labels",
    "*:443": "*",
    "*/8": "range",
    "https://api.test": "scheme",
    "api.test/path": "path",
    "api.test/": "path",
    "/": "path",
    "user@api.test": "more than a host",
    "api.test?x": "more than a host",
    "api.test#x": "more than a host",
    "api.test\\x": "more than a host",
    "[fe80::1%eth0]": "more than a host",
    "api%2etest": "more than a host",
    " api.test": "blank",
    "api.test ": "blank",
    "api.test\n": "blank",
    "api\t.test": "blank",
    "api\0.test": "blank",
    "\x1b[2Japi.test": "control",
    "api\u202e.test": "invisible",
    "api\u200b.test": "invisible",
    "api\u00ad.test": "invisible",
    "api\U000e0041.test": "invisible",
    "api\u00a0.test": "blank",
    "API.test": "upper case",
    "api.test.": "dot at its end",
    "Bücher.test": "form",
    "BÜCHER.test": "form",
    "ａｐｉ.allowed.test": "form",
    "１０．１１．１２．１３": "form",
    "１０.11.12.13": "form",
    "10。11。12。13": "form",
    "bu\u0308cher.test": "form",
    "\u0308u.test": "form",
    "a\u3164.test": "form",
    "a\u2800.test": "form",
    "a\u0378.test": "invisible",
    "\u212aelvin.test": "form",
    "xn--bücher.test": "form",
    "ü" * 64 + ".test": "form",
    "ü" * 500: "more than 253",
    "0x0a0b0c0d": "number",
    "012.013.014.015": "number",
    "168496141": "number",
    "10.723981": "number",
    "10.11.12.13.": "number",
    "10.11.12": "number",
    "10.11.12.013": "number",
    ".api.test": "empty label",
    "api..test": "empty label",
    "-a.test": "label",
    "a,b.test": "label",
    "a" * 64 + ".test": "label",
    "a." * 127 + "test": "253",
    "fd12::5": "colon",
    "fd12::/16": "colon",
    "::1": "colon",
    "[wiki.corp.test]": "IPv6",
    "[10.11.12.13]": "IPv6",
    "[fd12::5": "colon",
    "[fd12::5]x": "brackets",
    "[fd12::5]]": "IPv6",
    "[]": "IPv6",
    "api.test:": "port",
    "api.test:0": "port",
    "api.test:65536": "port",
    "api.test:99999999": "port",
    "api.test:+443": "port",
    "api.test:0443": "port",
    "api.test:https": "port",
    "api.test:4４3": "port",
    "api.test:443-445": "port",
    "api.test:443,80": "port",
    "api.test:**": "port",
    "api.test:443:80": "colon",
    "10.0.0.0/": "range",
    "10.0.0.0/x": "range",
    "10.0.0.0/-8": "range",
    "10.0.0.0/+8": "range",
    "10.0.0.0/08": "range",
    "10.0.0.0/255.0.0.0": "range",
    "10.0.0.0/8/8": "range",
    "10.0/8": "range",
    "10/8": "range",
    "0x0a.0.0.0/8": "range",
    "10.0.0.0/33": "length",
    "10.1.2.3/8": "length",
    "[fd12::]/129": "length",
    "[fd12::1]/16": "length",
    "[fd12::/16]": "range",
    "0.0.0.0/0": "every address",
    "[::]/0": "every address",
}


@pytest.mark.parametrize(
    ("text", "word"), FAULTS.items(), ids=[visible(each[:30]) + f" {len(each)}" for each in FAULTS]
)
@pytest.mark.parametrize("which", ["manifest", "tenant"])
def test_what_is_no_entry_is_a_fault_that_says_why_and_what_to_do(text: str, word: str, which: str) -> None:
    fault = parse_entry(text, which)
    assert isinstance(fault, Fault), f"taken: {text!r}"
    if which == "tenant" or "range is for" not in fault.why:
        assert word in fault.why, str(fault)
    assert fault.do
    assert fault.which == which
    assert fault.entry == visible(text)
    assert ("the manifest's egress" if which == "manifest" else "the tenant's list") in str(fault)
    assert visible(str(fault)) == str(fault)


@pytest.mark.parametrize(
    ("text", "do"),
    [
        ("API.Test.", "api.test"),
        ("10.1.2.3/8", "10.0.0.0/8"),
        ("[fd12::1]/16", "[fd12::]/16"),
        ("10.0.0.0/33", "32"),
        ("fd12::5", "brackets"),
    ],
)
def test_a_fault_shows_the_right_spelling(text: str, do: str) -> None:
    fault = parse_entry(text, "tenant")
    assert isinstance(fault, Fault)
    assert do in fault.do


def test_a_lax_grammar_is_noticed() -> None:
    """Three that are easily written: split at the last colon, fold first, take what the library takes."""

    def split(text: str) -> bool:
        return bool(text.rpartition(":")[0] or text)

    def folded(text: str) -> bool:
        return not isinstance(read_host(text.strip().lower().rstrip(".")), Malformed)

    def library(text: str) -> bool:
        try:
            ip_network(text.strip("[]"), strict=False)
        except ValueError:
            return False
        return True

    for lax in (split, folded, library):
        assert [text for text in FAULTS if lax(text)], lax.__name__


def test_a_range_is_for_the_tenants_list_alone() -> None:
    for text in ("10.0.0.0/8", "11.0.0.0/8", "10.0.0.0/7", "[2600::]/16"):
        fault = parse_entry(text, "manifest")
        assert isinstance(fault, Fault)
        assert "tenant" in fault.why
        assert isinstance(parse_entry(text, "tenant"), Entry)


@pytest.mark.parametrize(
    ("text", "manifest", "tenant"),
    [
        ("11.22.33.44", True, True),
        ("[2600::1]:*", True, True),
        ("wiki.corp.test", True, True),
        ("*.corp.test", True, True),
        ("localhost", True, True),
        ("10.11.12.13", False, True),
        ("10.11.12.13:8443", False, True),
        ("172.31.255.255", False, True),
        ("192.168.0.1", False, True),
        ("100.64.9.10", False, True),
        ("[fd12::5]", False, True),
        ("[::ffff:10.11.12.13]", False, True),
        ("[64:ff9b::a0b:c0d]", False, True),
        ("127.0.0.1", False, False),
        ("[::1]", False, False),
        ("169.254.169.254", False, False),
        ("168.63.129.16", False, False),
        ("0.0.0.0", False, False),
        ("224.0.0.251", False, False),
        ("[fe80::1]", False, False),
        ("[::ffff:127.0.0.1]", False, False),
    ],
)
def test_an_address_stands_only_where_it_opens_something(text: str, *, manifest: bool, tenant: bool) -> None:
    for which, right in (("manifest", manifest), ("tenant", tenant)):
        entry = parse_entry(text, which)
        assert isinstance(entry, Entry)
        assert (reach(entry, which) is None) is right


@pytest.mark.parametrize(
    ("text", "opens"),
    [
        ("127.0.0.0/8", False),
        ("169.254.0.0/16", False),
        ("10.0.0.0/8", True),
        ("10.0.0.0/7", True),
        ("8.0.0.0/8", True),
    ],
)
def test_a_range_that_opens_nothing_is_said(text: str, *, opens: bool) -> None:
    entry = parse_entry(text, "tenant")
    assert isinstance(entry, Entry)
    assert (reach(entry, "tenant") is None) is opens
