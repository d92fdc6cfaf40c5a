"""The command learns why and what to do, and never an address or a name that it did not ask for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.contract import Denial, Egress
from runners.tier1.addresses import Address
from runners.tier1.hosts import Name
from runners.tier1.judge import Listed, judge_addresses, judge_name, malformed, mismatch
from runners.tier1.lists import Lists
from runners.tier1.words import Refusal, fix, line, refusal

WIKI = Name("wiki.corp.test")


def denied(which: str, *addresses: str) -> Denial:
    answer = judge_addresses(Listed(which), WIKI, 443, map(ip_address, addresses))
    assert isinstance(answer, Denial)
    return answer


def unlisted(port: int = 443) -> Denial:
    answer = judge_name(Lists(principal="agent"), WIKI, port)
    assert isinstance(answer, Denial)
    return answer


def told(answer: Refusal) -> str:
    return "\n".join([answer.reason, *(f"{name}: {value}" for name, value in answer.headers), answer.body])


@pytest.mark.parametrize(
    ("denial", "status", "reason", "headers"),
    [
        (
            unlisted(),
            403,
            "Forbidden: unlisted; add to the manifest's egress or the tenant's list",
            "unlisted||manifest, tenant",
        ),
        (
            denied("manifest", "10.11.12.13"),
            403,
            "Forbidden: private; add to the tenant's list",
            "private|private|tenant",
        ),
        (
            denied("tenant", "127.0.0.1"),
            403,
            "Forbidden: special, loopback; no list opens it",
            "special|loopback|none",
        ),
        (mismatch(WIKI, 443), 403, "Forbidden: mismatch; no list opens it", "mismatch||none"),
        (
            malformed("a..b", "an empty label"),
            400,
            "Bad Request: malformed; no list opens it",
            "malformed||none",
        ),
    ],
)
def test_what_the_command_is_told(denial: Denial, status: int, reason: str, headers: str) -> None:
    answer = refusal(denial)
    kind, of, remedy = headers.split("|")
    assert (answer.status, answer.reason) == (status, reason)
    assert answer.headers == tuple(
        (f"X-Denial-{name}", value)
        for name, value in (("Kind", kind), ("Class", of), ("Remedy", remedy))
        if value
    )
    assert denial.fix in answer.body
    assert answer.body.endswith("\n")


def forms(address: Address) -> set[str]:
    """How the address may be written."""
    number = int(address)
    written = {str(address), address.exploded, f"{number:x}", str(number), address.reverse_pointer}
    if isinstance(address, IPv4Address):
        written |= {".".join(f"{each:#x}" for each in address.packed), f"{number:#o}"}
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        written |= forms(address.ipv4_mapped)
    return {each for each in written if len(each) > 3}


ADDRESSES = [
    "10.11.12.13",
    "192.168.77.8",
    "127.0.0.1",
    "169.254.169.254",
    "fd12:3456:789a::5",
    "::ffff:10.11.12.13",
]
ADDRESSES += ["64:ff9b::a0b:c0d", "2002:a0b:c0d::1", "fe80::20", "168.63.129.16"]


def leaks(answer: Callable[[Denial], Refusal]) -> list[str]:
    found = []
    for text in ADDRESSES:
        said = told(answer(denied("manifest", text))).lower()
        found += [form for form in forms(ip_address(text)) if form.lower() in said]
    return found


def test_no_address_is_told() -> None:
    assert leaks(refusal) == []


DOUBLES: dict[str, Callable[[Denial], Refusal]] = {
    "in the reason": lambda each: replace(refusal(each), reason=f"Forbidden: resolved to {each.address}"),
    "in a header": lambda each: replace(refusal(each), headers=(("X-Error", each.address),)),
    "in the body": lambda each: replace(refusal(each), body=line(each)),
    "as a number": lambda each: replace(refusal(each), body=str(int(ip_address(each.address)))),
    "reversed": lambda each: replace(refusal(each), body=ip_address(each.address).reverse_pointer),
}


@pytest.mark.parametrize("double", DOUBLES.values(), ids=DOUBLES)
def test_a_leak_is_noticed(double: Callable[[Denial], Refusal]) -> None:
    assert leaks(double)


@given(st.ip_addresses(), st.text(max_size=40))
def test_nothing_that_is_told_ends_a_line_or_begins_a_header(address: Address, asked: str) -> None:
    for denial in (judge_addresses(Listed("manifest"), WIKI, 443, (address,)), malformed(asked, "no host")):
        if not isinstance(denial, Denial):
            continue
        answer = refusal(denial)
        assert answer.reason.isascii()
        assert all(each.isprintable() for each in (answer.reason, *(value for _, value in answer.headers)))
        assert answer.body.count("\n") == 1


def test_the_fix_names_the_list_the_entry_and_who_can_do_it() -> None:
    both = fix("unlisted", ("manifest", "tenant"), "api.test:8443", "agent")
    assert "'api.test:8443'" in both
    assert "agent manifest's egress (its author)" in both
    assert "tenant's list (an admin)" in both
    tenant = fix("private", ("tenant",), "wiki.test")
    assert "'wiki.test'" in tenant
    assert "tenant's list" in tenant
    assert "manifest" not in tenant
    for kind in ("special", "mismatch", "malformed"):
        assert "no list" in fix(kind, (), "x.test")
        assert "'x.test'" not in fix(kind, (), "x.test")


def test_the_operator_reads_the_address_on_one_line() -> None:
    said = line(denied("manifest", "10.11.12.13"))
    assert said.startswith("refused wiki.corp.test:443: private (private, 10.11.12.13); add 'wiki.corp.test'")
    assert "\n" not in said
    assert line(unlisted()).startswith("refused wiki.corp.test:443: unlisted; add")


def test_the_operators_terminal_is_not_steered() -> None:
    said = line(Denial(kind="malformed", host="\x1b]0;x\x07\n\u202e", port=0))
    assert said == r"refused \u{001B}]0;x\u{0007}\u{000A}\u{202E}: malformed"


def test_whose_manifest_it_is_is_said() -> None:
    for principal in ("plugin", "agent", "harness"):
        held = Lists.read(Egress(principal=principal), strict=False)
        answer = judge_name(held, WIKI, 443)
        assert isinstance(answer, Denial)
        assert f"the {principal} manifest's egress" in answer.fix
