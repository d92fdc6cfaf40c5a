"""An entry covers what it says and no more; one that says nothing plain is a fault that names what to do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runners.tier1.entries import (
    ALL_PORTS,
    Below,
    Entry,
    Fault,
    Network,
    entry_text,
    parse_entry,
    places,
    reach,
)
from runners.tier1.hosts import Host, Literal, Malformed, Name, read_authority, read_host

Covers = Callable[[str, Host, int], bool]

COVERED = """
api.allowed.test          api.allowed.test:443        api.allowed.test          api.allowed.test:80
api.allowed.test          API.Allowed.TEST.:443       api.allowed.test:8443     api.allowed.test:8443
api.allowed.test:*        api.allowed.test:22         api.allowed.test:*        api.allowed.test:443
*.allowed.test            api.allowed.test:443        *.allowed.test            a.b.c.allowed.test:80
*.allowed.test:22         api.allowed.test:22         *.sub.allowed.test        a.sub.allowed.test:443
localhost                 localhost:80                wiki                      wiki:443
bücher.test               xn--bcher-kva.test:443      *.bücher.test             a.xn--bcher-kva.test:443
faß.test                  xn--fa-hia.test:443         हिन्दी.test                 xn--j2bd4cyah0f.test:443
xn--bcher-kva.test        xn--bcher-kva.test:443
_a.allowed.test           _a.allowed.test:443         11.22.33.44               11.22.33.44:443
10.11.12.13:*             10.11.12.13:5432            [fd12::5]                 [fd12:0::5]:443
[FD12::5]                 [fd12::5]:443               [fd12::5]:9               [fd12::5]:9
10.0.0.0/8                10.255.255.255:443          10.11.12.13/32            10.11.12.13:80
10.0.0.0/8:8443           10.1.2.3:8443               [fd12::]/16               [fd12:ffff::1]:443
[fd12::]/16:*             [fd12::1]:1                 [::ffff:10.1.2.3]         [::ffff:a01:203]:443
"""
NOT_COVERED = """
api.allowed.test          api.allowed.test:8443       api.allowed.test          api.allowed.test:22
api.allowed.test:8443     api.allowed.test:443        api.allowed.test:443      api.allowed.test:80
allowed.test              api.allowed.test:443        api.allowed.test          allowed.test:443
allowed.test              notallowed.test:443         api.allowed.test          xapi.allowed.test:443
api.allowed.test          api.allowed.test.evil.test:443    api.allowed.test    api-allowed.test:443
api.allowed.test          apixallowed.test:443        *.allowed.test            allowed.test:443
*.allowed.test            notallowed.test:443         *.allowed.test            x.notallowed.test:443
*.allowed.test            api.allowed.test.evil.test:443    *.allowed.test      api.allowed.test:22
*.allowed.test            api.allowed:443             fass.test                 xn--fa-hia.test:443
faß.test                  fass.test:443               10.11.12.13               10.11.12.14:443
10.11.12.13               [::ffff:10.11.12.13]:443    [::ffff:10.11.12.13]      10.11.12.13:443
10.0.0.0/8                11.0.0.0:443                10.0.0.0/8                10.1.2.3:22
10.0.0.0/8                [::ffff:10.1.2.3]:443       [::ffff:0:0]/96           10.1.2.3:443
[fd12::]/16               [fd13::]:443                0.0.0.0/1                 a.test:443
10.0.0.0/8                10.test:443                 api.allowed.test:4        api.allowed.test:443
"""


def samples(text: str) -> list[tuple[str, Host, int]]:
    words = text.split()
    found = []
    for entry, asked in zip(words[::2], words[1::2], strict=True):
        read = read_authority(asked, None)
        assert not isinstance(read, Malformed), asked
        found.append((entry, *read))
    return found


def wrong(covers: Covers) -> list[tuple[str, Host, int]]:
    over = [sample for sample in samples(NOT_COVERED) if covers(*sample)]
    return over + [sample for sample in samples(COVERED) if not covers(*sample)]


def ours(text: str, host: Host, port: int) -> bool:
    entry = parse_entry(text, "tenant")
    assert isinstance(entry, Entry), str(entry)
    return entry.covers(host, port)


def test_an_entry_covers_what_it_says_and_no_more() -> None:
    assert wrong(ours) == []


def test_all_ports_are_1_to_65535() -> None:
    for text, ports in (("a.test:*", [1, 80, 65535]), ("a.test", [80])):
        assert [port for port in (0, 1, 80, 65535, 65536) if ours(text, Name("a.test"), port)] == ports


def by_name(rule: Callable[[str, str], bool]) -> Covers:
    """Ports and addresses as they are, names by another rule."""

    def covers(text: str, host: Host, port: int) -> bool:
        if not isinstance(host, Name) or not text.isascii() or any(each in text for each in "/["):
            return ours(text, host, port)
        listed, colon, ports = text.partition(":")
        return ours(f"x.test{colon}{ports}", Name("x.test"), port) and rule(listed, str(host))

    return covers


DOUBLES: dict[str, Covers] = {
    "ends with, without the dot": by_name(lambda entry, host: host.endswith(entry.removeprefix("*."))),
    "the wildcard's own name too": by_name(
        lambda entry, host: host == entry.removeprefix("*.") or (entry[0] == "*" and host.endswith(entry[1:]))
    ),
    "a name's children too": by_name(lambda entry, host: f".{host}".endswith(f".{entry.removeprefix('*.')}")),
    "one label for a wildcard": by_name(
        lambda entry, host: entry == host or (entry[0] == "*" and host.partition(".")[2] == entry[2:])
    ),
    "begins with": by_name(
        lambda entry, host: host.startswith(entry) or (entry[0] == "*" and entry[1:] in host)
    ),
    "dots of a pattern are any character": by_name(
        lambda entry, host: (
            (len(entry) == len(host) and all(a in {b, "."} for a, b in zip(entry, host, strict=True)))
            or ours(entry, Name(host), 443)
        )
    ),
    "every port": lambda text, host, port: ours(text, host, port) or ours(text, host, 443),
    "443 alone without a port": lambda text, host, port: (
        ours(text, host, port) and (":" in text or port == 443)
    ),
    "port by its first digits": lambda text, host, port: (
        ours(text, host, port) or (":" in text and str(port).startswith(text.rpartition(":")[2]))
    ),
    "addresses unpacked before they are compared": lambda text, host, port: (
        ours(text, host, port)
        or (isinstance(host, Literal) and host.address.version == 6 and text == "10.11.12.13")
    ),
    "nothing": lambda *_: False,
    "everything": lambda *_: True,
}


@pytest.mark.parametrize("double", DOUBLES.values(), ids=DOUBLES)
def test_a_wrong_match_is_noticed(double: Covers) -> None:
    assert wrong(double)


LABEL = st.text(alphabet="ab09_", min_size=1, max_size=4)
NAME = (
    st.lists(LABEL, min_size=1, max_size=4)
    .map(".".join)
    .filter(lambda text: isinstance(read_host(text), Name))
)
ADDRESS = st.one_of(st.ip_addresses(v=4).map(str), st.ip_addresses(v=6).map(lambda each: f"[{each}]"))
HOST = st.one_of(NAME, ADDRESS)
PORT = st.integers(1, 65535)


@given(HOST, PORT)
def test_the_entry_for_a_host_and_a_port_covers_them_and_is_read_again(text: str, port: int) -> None:
    host = read_host(text)
    assert not isinstance(host, Malformed)
    entry = parse_entry(entry_text(host, port), "tenant")
    assert isinstance(entry, Entry)
    assert entry.covers(host, port)
    assert entry.host == host
    assert (":" in entry.text.rpartition("]")[2]) is (port not in {80, 443})


@given(HOST, PORT)
def test_a_place_for_a_host_is_one_that_lint_takes(text: str, port: int) -> None:
    host = read_host(text)
    assert not isinstance(host, Malformed)
    for which in ("manifest", "tenant"):
        entry = parse_entry(entry_text(host, port), which)
        assert isinstance(entry, Entry)
        assert (which in places(host, port)) is (reach(entry, which) is None)


@given(HOST, PORT, HOST, PORT)
@example("a.test", 443, "b.test", 443)
def test_an_entry_covers_no_other_host_and_no_other_port(
    listed: str, port: int, asked: str, other: int
) -> None:
    entry = parse_entry(f"{listed}:{port}", "tenant")
    host = read_host(asked)
    assert isinstance(entry, Entry)
    assert not isinstance(host, Malformed)
    assert entry.covers(host, other) is (entry.host == host and port == other)


@given(NAME, NAME, st.one_of(NAME, ADDRESS))
def test_a_wildcard_covers_what_stands_before_its_dot_and_nothing_else(
    above: str, name: str, asked: str
) -> None:
    entry = parse_entry(f"*.{name}:*", "tenant")
    if not isinstance(entry, Entry):
        assert "." not in name
        return
    host = read_host(asked)
    below = read_host(f"{above}.{name}")
    assert not isinstance(host, Malformed)
    assert isinstance(below, Malformed) or entry.covers(below, 1)
    assert entry.covers(host, 1) is (
        isinstance(host, Name) and str(host).split(".")[-name.count(".") - 2 :][1:] == name.split(".")
    )


@given(st.one_of(st.text(max_size=60), st.text(alphabet="ab.*:/[]0123456789 -_\0%@ü", max_size=30)))
@example("ü" * 300)
@example("xn--\ud800")
@example("*.xn--a-.test")
def test_whatever_is_written_is_an_entry_or_a_fault_and_never_a_crash(text: str) -> None:
    for which in ("manifest", "tenant"):
        read = parse_entry(text, which)
        if isinstance(read, Fault):
            assert read.why
            assert read.do
            assert str(read).isprintable()
            continue
        assert read.text == text
        match read.host:
            case Name(name) | Below(name):
                assert read_host(name) == Name(name)
            case Literal():
                assert read_host(str(read.host)) == read.host
            case Network():
                assert which == "tenant"
        assert set(read.ports) <= set(ALL_PORTS)
