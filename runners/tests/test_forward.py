"""What every runner of a forward proxy does with the lists before its proxy sees them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from runners import forward
from runners.contract import Channel, Egress, Expressible, Identity, Inexpressible, Policy, StartError
from runners.forward import Forward
from runners.registry import runner_class
from runners.server import Site, Told
from runners.tests.bench import bench
from runners.tier1.entries import Entry
from runners.tier1.hosts import Name

NAMES = ("squid", "tinyproxy", "mitmproxy", "srt")
SITE = Site(folder=Path("/run/p"), port=3128, secret="5e" * 16)
EVIL = (
    "api.test\nhttp_access allow all",
    "api.test\r\nhttp_access allow all",
    "api.test http_access",
    "api.test\tall",
    '"/etc/passwd"',
    "api.test#",
    "api.test;x",
    ".*",
    "*",
    "^api",
    "api.test|.*",
    "(api)",
    "api.test:443|.*",
    "api.test:1-65535",
    "-i",
    "!api.test",
    "none",
    "",
)
"""Each would mean something else, or more, in one configuration or another; `none` is a name like any."""


def runner(name: str, **options: object) -> Forward:
    kind = runner_class(name)
    assert kind is not None
    made = kind(options)
    assert isinstance(made, Forward)
    return made


@pytest.fixture(autouse=True)
def asks_loopback(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "resolv.conf").write_text(
        "# ours\nsearch x.test\nnameserver 127.0.0.1\nnameserver 192.0.2.1\n"
    )
    monkeypatch.setattr(forward, "RESOLV_CONF", tmp_path / "resolv.conf")


@pytest.mark.parametrize("name", NAMES)
def test_it_carries_a_proxy_and_no_records(name: str) -> None:
    channels = runner(name).channels
    assert Channel.PROXY in channels
    assert not channels & {Channel.RECORDS, Channel.DIAL_LOG, Channel.DECISIONS}


@pytest.mark.parametrize("entry", EVIL)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_entry_never_reaches_a_configuration(name: str, entry: str) -> None:
    for egress in (Egress(manifest=("a.test", entry)), Egress(tenant=(entry,))):
        read = runner(name).read(egress)
        if entry == "none" and isinstance(read, Told):
            continue
        assert isinstance(read, Inexpressible), entry
        assert "\n" not in read.why


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, database=None)
@given(text=st.text(st.characters(codec="utf-8"), max_size=40))
def test_no_text_makes_a_line_of_its_own(name: str, text: str) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(forward, "_nameserver", lambda: "127.0.0.1")
        assert lines(runner(name), text) in {(), lines(runner(name), "a.test")}


def lines(kind: Forward, *manifest: str) -> tuple[int, ...]:
    """How long each file is that it writes for these entries; nothing where they cannot be told."""
    read = kind.read(Egress(manifest=manifest))
    if isinstance(read, Inexpressible):
        return ()
    return tuple(text.count("\n") for text in kind.configuration(SITE, read).values())


def as_it_is(egress: Egress) -> Told:
    return Told(manifest=tuple(Entry(each, Name(each), (80,)) for each in egress.manifest))


def test_a_translator_that_takes_text_as_it_is_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    careless = runner("squid")
    monkeypatch.setattr(careless, "read", as_it_is)
    assert lines(careless, EVIL[0]) not in {(), lines(careless, "a.test")}


@pytest.mark.parametrize("name", NAMES)
def test_detours_cannot_be_told(name: str) -> None:
    read = runner(name).read(Egress(detours={"192.0.2.1:80": ("127.0.0.1", 8080)}))
    assert isinstance(read, Inexpressible)
    assert "detours" in read.why


@pytest.mark.parametrize("name", NAMES)
def test_a_resolver_at_another_port_cannot_be_told(name: str) -> None:
    assert isinstance(runner(name).read(Egress()), Told)
    assert isinstance(runner(name).read(Egress(resolver=("127.0.0.1", 5353))), Inexpressible)


@pytest.mark.parametrize("name", ["tinyproxy", "mitmproxy", "srt"])
def test_who_asks_as_the_system_does_must_ask_the_row_s_resolver(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Else names of a row would be asked of the machine's own."""
    elsewhere = runner(name).read(Egress(resolver=("127.0.0.2", 53)))
    assert isinstance(elsewhere, Inexpressible)
    assert "127.0.0.1" in elsewhere.why
    monkeypatch.setattr(forward, "RESOLV_CONF", tmp_path / "missing")
    assert isinstance(runner(name).read(Egress()), Told), "resolv.conf(5): then it is the local machine's"
    (tmp_path / "resolv.conf").write_text("nameserver 192.0.2.1\nnameserver 127.0.0.1\n")
    monkeypatch.setattr(forward, "RESOLV_CONF", tmp_path / "resolv.conf")
    assert isinstance(runner(name).read(Egress()), Inexpressible)


def test_squid_is_told_its_resolver() -> None:
    read = runner("squid").read(Egress(resolver=("127.0.0.2", 53)))
    assert isinstance(read, Told)
    assert "dns_nameservers 127.0.0.2\n" in runner("squid").configuration(SITE, read)["squid.conf"]


def test_the_policy_is_asked_with_its_neighbour() -> None:
    policy = Policy(workspace=Path("/ws"), egress=Egress(manifest=("a.test",)))
    asked = runner("srt")
    assert isinstance(asked.express(policy), Expressible)
    assert isinstance(asked.express(replace(policy, egress=None)), Expressible)
    beside = Egress(manifest=("a.test",), tenant=("b.test",))
    both = replace(policy, egress=Egress(manifest=("a.test",), neighbour=beside))
    assert isinstance(asked.express(both), Inexpressible)
    assert isinstance(asked.express(replace(policy, hidden=(Path("/ws/h"),))), Inexpressible)


@pytest.mark.parametrize("name", NAMES)
def test_options_are_checked(name: str) -> None:
    kind = runner_class(name)
    assert kind is not None
    Draft202012Validator.check_schema(dict(kind.OPTIONS))
    for wrong in ({"mode": "strict"}, {"program": "mitmdump"}, {"addresses": "no"}):
        assert list(Draft202012Validator(kind.OPTIONS).iter_errors(wrong)), wrong


def test_without_a_policy_for_it_there_is_no_proxy() -> None:
    with bench(runner("tinyproxy"), Identity.current()) as made:
        seen = made.see("import os; print(os.environ['http_proxy'])")
        assert seen.output.startswith(b"http://127.0.0.1:")
        assert [path.name for path in made.run.iterdir() if path.name.startswith("proxy-")] != []


def test_a_start_that_fails_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = runner("tinyproxy")
    monkeypatch.setattr(kind, "program", lambda site: ("/bin/sh", "-c", "echo no such luck; exit 3"))
    with bench(kind, Identity.current()) as made:
        policy = replace(made.policy(), egress=Egress(manifest=("a.test",)))
        with pytest.raises(StartError, match=r"ended with 3 .* no such luck"):
            made.start("pass", policy=policy)
        with pytest.raises(StartError, match="cannot be told this"):
            made.start("pass", policy=replace(policy, egress=Egress(manifest=("a b",))))
