"""A host on the wire is one name, one address, or goes nowhere: nothing that others read in another way."""

# ruff: noqa: RUF001 - letters that look like others are what is tested

from __future__ import annotations

import socket
from collections.abc import Callable
from ipaddress import ip_address

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runners.tier1.hosts import Host, Literal, Malformed, Name, read_authority, read_host, read_port, wire
from runners.tier1.tests.spellings import LITERALS, MALFORMED, NAMES


@pytest.mark.parametrize(("text", "name"), NAMES.items())
def test_a_name_is_folded_once(text: str, name: str) -> None:
    assert read_host(text) == Name(name)


@pytest.mark.parametrize(("text", "address"), LITERALS.items())
def test_an_address_is_read_in_its_plain_form(text: str, address: str) -> None:
    assert read_host(text) == Literal(ip_address(address))


@pytest.mark.parametrize("text", MALFORMED)
def test_what_may_be_read_in_two_ways_goes_nowhere(text: str) -> None:
    read = read_host(text)
    assert isinstance(read, Malformed)
    assert read.why
    assert len(text) < 4 or text not in read.why


def test_why_is_said() -> None:
    for text, why in {
        "": "no host",
        "ü": "not ASCII",
        "a..b": "empty label",
        "-a": "label",
        "1.2": "number",
        "[::1": "whole host",
        "[fe80::1%a]": "zone",
        "[a]": "no IPv6",
        "a" * 300: "253",
    }.items():
        read = read_host(text)
        assert isinstance(read, Malformed)
        assert why in read.why
    assert read_authority("api.test", None) == Malformed("no port")


def inet_aton(text: str) -> Host | Malformed:
    """As a proxy that leaves numbers to libc."""
    try:
        return Literal(ip_address(socket.inet_aton(text)))
    except (OSError, UnicodeError, ValueError):
        return read_host(text)


def named(text: str) -> Host | Malformed:
    """As one that takes what is no address for a name."""
    read = read_host(text)
    return Name(text.lower()) if isinstance(read, Malformed) else read


def stripped(text: str) -> Host | Malformed:
    return read_host(text.strip(" .[]\r\n\t"))


def cut(text: str) -> Host | Malformed:
    """As one whose strings end at a NUL, and whose zones do at a percent sign."""
    return read_host(
        text.partition("\0")[0].partition("%")[0] + ("]" if text.startswith("[") and "%" in text else "")
    )


def mapped(text: str) -> Host | Malformed:
    """As one that maps letters first: Python's own codec."""
    try:
        return read_host(text.encode("idna").decode())
    except UnicodeError:
        return Malformed("no name")


def unfolded(text: str) -> Host | Malformed:
    """As one that compares what it was given."""
    read = read_host(text)
    return Name(text) if isinstance(read, Name) else read


@pytest.mark.parametrize(
    "double", [inet_aton, named, stripped, cut, mapped, unfolded], ids=lambda each: each.__name__
)
def test_a_laxer_reading_is_noticed(double: Callable[[str], Host | Malformed]) -> None:
    lax = [text for text in MALFORMED if not isinstance(double(text), Malformed)]
    assert lax or [text for text, name in NAMES.items() if double(text) != Name(name)]


ANYTHING = st.one_of(
    st.text(max_size=80),
    st.text(alphabet="0123456789abcdefxX.:[]%-_*/ \0\n", max_size=40),
    st.from_regex(r"[0-9a-fx.]{1,20}", fullmatch=True),
    st.binary(max_size=60).map(wire),
)


@given(ANYTHING)
@example("0177.0.0.1")
@example("127.0.0.1 x")
def test_no_spelling_that_libc_takes_for_an_address_is_resolved_as_a_name(text: str) -> None:
    try:
        address = ip_address(socket.inet_aton(text))
    except (OSError, UnicodeError, ValueError):
        return
    assert read_host(text) in (Literal(address), read_host("")) or isinstance(read_host(text), Malformed)


@given(ANYTHING)
def test_whatever_comes_is_read_the_same_way_again(text: str) -> None:
    read = read_host(text)
    if isinstance(read, Malformed):
        return
    assert read_host(str(read)) == read
    assert text.isascii()
    assert str(read).isprintable()
    if isinstance(read, Name):
        assert read.text == text.lower().removesuffix(".")
        assert not any(character in read.text for character in " \0\r\n\t/@:[]%\\*")


@given(ANYTHING, ANYTHING)
def test_an_authority_is_its_host_and_its_port(host: str, port: str) -> None:
    read = read_authority(f"{host}:{port}", None)
    if not isinstance(read, Malformed):
        assert isinstance(read_host(str(read[0])), Name | Literal)
        assert 1 <= read[1] <= 65535


@pytest.mark.parametrize(
    ("text", "default", "host", "port"),
    [
        ("api.test:443", None, "api.test", 443),
        ("api.test:1", None, "api.test", 1),
        ("api.test.:65535", None, "api.test", 65535),
        ("[fd12::5]:8443", None, "[fd12::5]", 8443),
        ("10.1.2.3:80", None, "10.1.2.3", 80),
        ("api.test", 80, "api.test", 80),
        ("[fd12::5]", 80, "[fd12::5]", 80),
        ("api.test:8080", 80, "api.test", 8080),
    ],
)
def test_an_authority(text: str, default: int | None, host: str, port: int) -> None:
    assert read_authority(text, default) == (read_host(host), port)


BAD_PORTS = [
    "",
    "0",
    "00",
    "65536",
    "65979",
    "4294967739",
    "-443",
    "+443",
    "https",
    "443:80",
    "0443",
    " 443",
    "443 ",
]
BAD_PORTS += ["4_43", "4.43", "0x1bb", "44３", "٤٤٣", "443\n", "443\0", "1" * 5000, "443/"]


@pytest.mark.parametrize("port", BAD_PORTS)
@pytest.mark.parametrize("default", [None, 443])
def test_a_port_is_1_to_65535_in_plain_digits(port: str, default: int | None) -> None:
    assert isinstance(read_authority(f"api.test:{port}", default), Malformed)
    assert isinstance(read_authority(f"[fd12::5]:{port}", default), Malformed)
    assert isinstance(read_port(port), Malformed)


def test_a_laxer_reading_of_ports_is_noticed() -> None:
    """Two that are often written: int(), and what wraps around."""
    taken = []
    for text in BAD_PORTS:
        try:
            taken.append((int(text), int(text) % 65536))
        except ValueError:
            continue
    assert any(1 <= number <= 65535 for number, _ in taken)
    assert any(wrapped == 443 for _, wrapped in taken)


@pytest.mark.parametrize(
    "text", ["api.test", "[fd12::5]", "fd12::5:443", "fd12::5", "[fd12::5]443", ":443", "", ":"]
)
def test_an_authority_without_a_port_of_its_own_is_none(text: str) -> None:
    assert isinstance(read_authority(text, None), Malformed)


def test_the_wire_is_bytes_and_no_byte_is_lost() -> None:
    assert wire(bytes(range(256))).encode("latin-1") == bytes(range(256))
    assert isinstance(read_host(wire("bücher.test".encode())), Malformed)
    assert isinstance(read_host(wire(b"api\xff.test")), Malformed)
