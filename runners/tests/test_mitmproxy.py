"""What mitmproxy's addon is told, and what it makes of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runners import forward
from runners.contract import Egress, Identity, Missing
from runners.mitmproxy import Runner
from runners.server import Site, Told
from runners.tests.proxied import CHANGED, FRESH, LISTS, RENEWED, Call, found, played

SITE = Site(folder=Path("/run/p/own"), port=3128, secret="")


@pytest.fixture(autouse=True)
def asks_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forward, "_nameserver", lambda: "127.0.0.1")


def test_the_addon_gets_the_lists_as_they_were_read() -> None:
    read = Runner({}).read(
        Egress(manifest=("api.test", "*.wild.test:8443"), tenant=("10.1.0.0/16:*", "[fd12::5]"))
    )
    assert isinstance(read, Told)
    files = Runner({}).configuration(SITE, read)
    assert sorted(files) == ["gate.py", "lists.json"]
    assert json.loads(files["lists.json"]) == {
        "manifest": [
            {"name": "api.test", "ports": [80, 443]},
            {"below": "wild.test", "ports": [8443]},
        ],
        "tenant": [
            {"network": "10.1.0.0/16", "ports": []},
            {"network": "fd12::5", "ports": [80, 443]},
        ],
    }


def test_a_program_that_is_elsewhere_is_the_one_that_is_run() -> None:
    chosen = Runner({"program": "/opt/no/mitmdump"})
    assert chosen.program(SITE)[0] == "/opt/no/mitmdump"
    missing = chosen.find(Identity.current())
    assert isinstance(missing, Missing)
    assert "make proxies" in missing.fix


@pytest.mark.real
def test_mitmproxy_does_as_its_addon_is_told() -> None:
    mitmproxy = found("mitmproxy")
    lying = {"Host": "other.unlisted.test"}
    assert played(
        mitmproxy,
        LISTS,
        *FRESH,
        Call("http://api.allowed.test/", headers=lying),
        *CHANGED,
        *RENEWED,
    ) == [
        *("200 11.22.33.44", "200 11.22.33.44", "403"),
        *("403", "403", "403"),
        *("403", "403"),
        "403",
        *("200 11.22.33.55", "403"),
        *("200 10.11.12.13", "403"),
    ]
