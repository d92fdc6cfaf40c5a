"""What tinyproxy is told, and what it makes of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from runners import forward
from runners.contract import Egress, Inexpressible
from runners.server import Site, Told
from runners.tests.proxied import CHANGED, FRESH, LISTS, Call, found, played
from runners.tinyproxy import Runner

SITE = Site(folder=Path("/run/p"), port=3128, secret="")


@pytest.fixture(autouse=True)
def asks_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forward, "_nameserver", lambda: "127.0.0.1")


def passes(entry: str, asked: str) -> bool:
    """Whether the filter has a line for what is asked, read as POSIX reads it, without case."""
    read = Runner({}).read(Egress(tenant=(entry,)))
    assert isinstance(read, Told)
    lines = Runner({}).configuration(SITE, read)["filter"].splitlines()
    assert all(len(line) < 500 for line in lines)
    return any(re.search(line, asked, re.IGNORECASE) for line in lines)


@pytest.mark.parametrize(
    ("entry", "asked"),
    [
        ("a.b.test", "a.b.test:443"),
        ("a.b.test", "A.B.Test:80"),
        ("a.b.test", "a.b.test.:443"),
        ("a.b.test", "http://a.b.test/"),
        ("a.b.test", "http://a.b.test"),
        ("a.b.test", "http://a.b.test:443/x?y=@z"),
        ("a.b.test:8443", "http://a.b.test:8443/"),
        ("a.b.test:*", "a.b.test:22"),
        ("a.b.test:*", "http://a.b.test/"),
        ("*.b.test", "x.y_z.b.test:443"),
        ("10.1.2.3:22", "10.1.2.3:22"),
        ("[fd12::5]", "[fd12::5]:443"),
        ("[fd12::5]", "http://[fd12::5]/"),
    ],
)
def test_what_an_entry_means_passes(entry: str, asked: str) -> None:
    assert passes(entry, asked)


@pytest.mark.parametrize(
    ("entry", "asked"),
    [
        ("a.b.test", "axb.test:443"),
        ("a.b.test", "a.b.test:4433"),
        ("a.b.test", "a.b.test:65979"),
        ("a.b.test", "a.b.test:22"),
        ("a.b.test", "a.b.test"),
        ("a.b.test", "x.a.b.test:443"),
        ("a.b.test", "xa.b.test:443"),
        ("a.b.test", "a.b.test.evil.test:443"),
        ("a.b.test", "http://a.b.test:8080/"),
        ("a.b.test", "http://a.b.test:80@10.11.12.13/"),
        ("a.b.test", "http://a.b.test@10.11.12.13/"),
        ("a.b.test", "http://a.b.test?@10.11.12.13/"),
        ("a.b.test", "http://evil.test/http://a.b.test/"),
        ("a.b.test", "https://a.b.test/"),
        ("a.b.test", "a.b.test:443/@10.11.12.13"),
        ("a.b.test:8443", "http://a.b.test/"),
        ("a.b.test:*", "a.b.test:4294967739"),
        ("*.b.test", "b.test:443"),
        ("*.b.test", ".b.test:443"),
        ("*.b.test", "x..b.test:443"),
        ("*.b.test", "-x.b.test:443"),
        ("*.b.test", f"{'a' * 64}.b.test:443"),
        ("*.b.test", "http://evil.test/x.b.test:443"),
        ("10.1.2.3", "10.1.2.30:443"),
        ("10.1.2.3", "10x1.2.3:443"),
    ],
)
def test_what_it_does_not_mean_does_not(entry: str, asked: str) -> None:
    assert not passes(entry, asked)


def test_what_it_has_no_words_for() -> None:
    assert isinstance(Runner({}).read(Egress(tenant=("10.1.0.0/16",))), Inexpressible)
    long = ".".join(["a" * 63] * 3 + ["a" * 61])
    assert isinstance(Runner({}).read(Egress(manifest=(long,))), Told)
    dotted = ".".join("a" * 127)
    assert isinstance(Runner({}).read(Egress(manifest=(dotted,))), Told)


@pytest.mark.real
def test_tinyproxy_does_as_it_is_told_and_asks_no_address() -> None:
    tinyproxy = found("tinyproxy")
    assert played(
        tinyproxy,
        LISTS,
        *FRESH,
        *CHANGED,
        Call("api.allowed.test:443", renew=LISTS),
    ) == [
        *("200 11.22.33.44", "200 11.22.33.44", "403"),
        *("403", "403", "403"),
        *("200 10.11.12.13", "200 127.0.0.1"),
        *("200 11.22.33.55", "403"),
        "200 11.22.33.44",
    ]
