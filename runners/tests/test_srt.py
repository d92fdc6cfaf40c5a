"""What sandbox-runtime's proxy is told, and what it makes of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runners import forward, srt
from runners.contract import Egress, Identity, Inexpressible, Missing
from runners.server import Site, Told
from runners.srt import Runner
from runners.tests.proxied import CHANGED, FRESH, LISTS, RENEWED, found, played

SITE = Site(folder=Path("/run/p/own"), port=3128, secret="5e" * 16)


@pytest.fixture(autouse=True)
def asks_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forward, "_nameserver", lambda: "127.0.0.1")


def told(egress: Egress) -> dict[str, list[str]]:
    read = Runner({}).read(egress)
    assert isinstance(read, Told)
    return json.loads(Runner({}).configuration(SITE, read)["network.json"])


def test_an_entry_is_a_domain_for_each_of_its_ports() -> None:
    lists = told(Egress(tenant=("api.test", "*.wild.test:8443", "[fd12::5]:22", "10.1.2.3:*")))
    assert lists["allowedDomains"] == [
        *("api.test:80", "api.test:443", "*.wild.test:8443", "[fd12::5]:22", "10.1.2.3")
    ]
    assert lists["deniedDomains"] == []


def test_the_reach_is_that_of_the_one_list() -> None:
    assert "10.0.0.0/8" in told(Egress(manifest=("a.test",)))["deniedResolvedAddresses"]
    tenant = told(Egress(tenant=("a.test",)))["deniedResolvedAddresses"]
    assert "10.0.0.0/8" not in tenant
    assert "198.18.0.0/15" in tenant


@pytest.mark.parametrize(
    ("egress", "why"),
    [
        (Egress(manifest=("a.test",), tenant=("b.test",)), "two lists"),
        (Egress(tenant=("10.1.0.0/16",)), "a range"),
        (Egress(manifest=("intranet",)), "one label"),
    ],
)
def test_what_it_has_no_words_for(egress: Egress, why: str) -> None:
    read = Runner({}).read(egress)
    assert isinstance(read, Inexpressible)
    assert why in read.why


def test_the_password_is_in_the_url_alone() -> None:
    assert Runner({}).url(SITE) == f"http://srt:{SITE.secret}@127.0.0.1:3128"


def test_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = Runner({"program": "/opt/no/bin/srt"}).find(Identity.current())
    assert isinstance(nowhere, Missing)
    monkeypatch.setattr(srt, "find", lambda *_: srt.Found("v20"))
    monkeypatch.setattr(srt, "which", lambda program: "rg" if program == "rg" else f"/usr/bin/{program}")
    without = Runner({}).find(Identity.current())
    assert isinstance(without, Missing)
    assert without.what.startswith("rg is not installed")


@pytest.mark.real
def test_sandbox_runtime_s_proxy_does_as_it_is_told() -> None:
    proxy = found("srt")
    assert played(
        proxy,
        LISTS,
        *FRESH,
        *CHANGED,
        *RENEWED,
    ) == [
        *("200 11.22.33.44", "200 11.22.33.44", "403"),
        *("403", "403", "403"),
        *("403", "403"),
        *("200 11.22.33.55", "403"),
        *("200 10.11.12.13", "403"),
    ]
