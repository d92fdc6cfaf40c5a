"""Who may go where: the host first, then every address, the worst of which refuses the call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from ipaddress import IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.contract import Denial, Egress
from runners.tier1 import words
from runners.tier1.addresses import Address, AddressClass, classify
from runners.tier1.embedded import embedded
from runners.tier1.hosts import Host, Literal, Malformed, read_host
from runners.tier1.judge import Listed, judge_addresses, judge_name, malformed, mismatch
from runners.tier1.learn import propose
from runners.tier1.lists import Lists

PUBLIC, OTHER = ip_address("11.22.33.44"), ip_address("2600:ffff::44")
PRIVATE, ULA = ip_address("10.11.12.13"), ip_address("fd12:3456:789a::5")
LOOP, META, MAPPED = ip_address("::1"), ip_address("169.254.169.254"), ip_address("::ffff:10.11.12.13")
Judge = Callable[[Listed, Host, int, Iterable[Address]], tuple[Address, ...] | Denial]


def host(text: str) -> Host:
    read = read_host(text)
    assert not isinstance(read, Malformed)
    return read


WIKI = host("wiki.corp.test")

# list, addresses → what is dialled, or the kind and the class of the refusal
CASES: list[tuple[str, tuple[Address, ...], tuple[Address, ...] | tuple[str, str]]] = [
    ("manifest", (PUBLIC,), (PUBLIC,)),
    ("manifest", (OTHER, PUBLIC, OTHER), (OTHER, PUBLIC)),
    ("tenant", (PUBLIC,), (PUBLIC,)),
    ("manifest", (PRIVATE,), ("private", "private")),
    ("manifest", (ULA,), ("private", "private")),
    ("manifest", (MAPPED,), ("private", "private")),
    ("manifest", (ip_address("100.64.9.10"),), ("private", "private")),
    ("tenant", (PRIVATE,), (PRIVATE,)),
    ("tenant", (ULA, PUBLIC), (ULA, PUBLIC)),
    ("tenant", (MAPPED,), (MAPPED,)),
    ("manifest", (PUBLIC, PRIVATE), ("private", "private")),
    ("manifest", (PRIVATE, PUBLIC), ("private", "private")),
    ("tenant", (PUBLIC, LOOP), ("special", "loopback")),
    ("tenant", (LOOP, PRIVATE), ("special", "loopback")),
    ("manifest", (PRIVATE, LOOP), ("special", "loopback")),
    ("manifest", (LOOP, PRIVATE), ("special", "loopback")),
    ("manifest", (META, LOOP), ("special", "metadata")),
    ("tenant", (META,), ("special", "metadata")),
    ("tenant", (ip_address("0.0.0.0"),), ("special", "unspecified")),
    ("tenant", (ip_address("168.63.129.16"),), ("special", "platform")),
    ("tenant", (ip_address("64:ff9b::7f00:1"),), ("special", "loopback")),
    ("manifest", (ip_address("64:ff9b::b16:212c"),), (ip_address("64:ff9b::b16:212c"),)),
    ("tenant", (), ()),
]


def seen(answer: tuple[Address, ...] | Denial) -> tuple[Address, ...] | tuple[str, str]:
    return (answer.kind, answer.address_class) if isinstance(answer, Denial) else answer


def wrong(judge: Judge) -> list[tuple[str, tuple[Address, ...]]]:
    return [
        (which, addresses)
        for which, addresses, right in CASES
        if seen(judge(Listed(which), WIKI, 443, addresses)) != right
    ]


def test_every_address_of_every_answer_is_judged() -> None:
    assert wrong(judge_addresses) == []


def first_only(
    listed: Listed, asked: Host, port: int, addresses: Iterable[Address]
) -> tuple[Address, ...] | Denial:
    every = tuple(addresses)
    answer = judge_addresses(listed, asked, port, every[:1])
    return answer if isinstance(answer, Denial) else tuple(dict.fromkeys(every))


def drops_the_bad(
    listed: Listed, asked: Host, port: int, addresses: Iterable[Address]
) -> tuple[Address, ...] | Denial:
    every = tuple(addresses)
    good = [each for each in every if not isinstance(judge_addresses(listed, asked, port, (each,)), Denial)]
    return tuple(dict.fromkeys(good)) if good else judge_addresses(listed, asked, port, every)


def in_order(
    listed: Listed, asked: Host, port: int, addresses: Iterable[Address]
) -> tuple[Address, ...] | Denial:
    """The first refusal that comes, whatever is worse behind it."""
    every = tuple(addresses)
    for each in every:
        answer = judge_addresses(listed, asked, port, (each,))
        if isinstance(answer, Denial):
            return answer
    return tuple(dict.fromkeys(every))


def one_list(which: str) -> Judge:
    return lambda _, *rest: judge_addresses(Listed(which), *rest)


def tenant_everywhere(listed: Listed, asked: Host, port: int, addresses: Iterable[Address]) -> object:
    return tuple(addresses) if listed.which == "tenant" else judge_addresses(listed, asked, port, addresses)


def not_unpacked(listed: Listed, asked: Host, port: int, addresses: Iterable[Address]) -> object:
    every = tuple(addresses)
    plain = [each for each in every if not (isinstance(each, IPv6Address) and embedded(each))]
    answer = judge_addresses(listed, asked, port, plain)
    return answer if isinstance(answer, Denial) else every


DOUBLES = {
    "the first answer alone": first_only,
    "what is bad is left out": drops_the_bad,
    "the first refusal, not the worst": in_order,
    "either list opens private networks": one_list("tenant"),
    "no list opens private networks": one_list("manifest"),
    "the tenant's list opens everything": tenant_everywhere,
    "carriers are not unpacked": not_unpacked,
    "nothing is refused": lambda _listed, _host, _port, addresses: tuple(addresses),
}


@pytest.mark.parametrize("double", DOUBLES.values(), ids=DOUBLES)
def test_a_wrong_judgement_is_noticed(double: Judge) -> None:
    assert wrong(double)


ADDRESSES = st.lists(
    st.one_of(st.ip_addresses(), st.sampled_from([PUBLIC, OTHER, PRIVATE, ULA, LOOP, META, MAPPED])),
    max_size=5,
)


@given(
    ADDRESSES,
    st.sampled_from(["manifest", "tenant"]),
    st.frozensets(st.ip_addresses(), max_size=2),
    st.randoms(),
)
def test_nothing_is_dialled_that_its_list_cannot_reach(
    addresses: list, which: str, own: frozenset, chance
) -> None:
    listed = Listed(which)
    answer = judge_addresses(listed, WIKI, 443, addresses, own)
    if not isinstance(answer, Denial):
        assert set(answer) == set(addresses)
        kinds = {classify(each).kind for each in answer}
        assert kinds <= ({"public", "private"} if which == "tenant" else {"public"})
        assert not own & set(answer)
        return
    shuffled = list(addresses)
    chance.shuffle(shuffled)
    assert judge_addresses(listed, WIKI, 443, shuffled, own) == answer
    assert ip_address(answer.address) in addresses
    assert answer.remedy == (("tenant",) if answer.kind == "private" else ())


@pytest.mark.parametrize("which", ["manifest", "tenant"])
@pytest.mark.parametrize("own", ["11.22.33.44", "10.11.12.13", "2600:ffff::44"])
def test_what_the_node_itself_listens_at_is_never_reached(which: str, own: str) -> None:
    address = ip_address(own)
    answer = judge_addresses(Listed(which), WIKI, 443, (PUBLIC, address), frozenset({address}))
    assert isinstance(answer, Denial)
    assert (answer.kind, answer.address_class, answer.address, answer.remedy) == ("special", "self", own, ())
    for carrier in ("::ffff:11.22.33.44", "64:ff9b::b16:212c"):
        carried = judge_addresses(Listed("tenant"), WIKI, 443, (ip_address(carrier),), frozenset({PUBLIC}))
        assert isinstance(carried, Denial)
        assert carried.address_class == "self"


def unlisted(asked: str, port: int = 443, **lists: tuple[str, ...]) -> Denial:
    answer = judge_name(Lists.read(Egress(**lists), strict=False), host(asked), port)
    assert isinstance(answer, Denial)
    return answer


def test_a_host_on_a_list_may_be_resolved() -> None:
    lists = Lists.read(Egress(manifest=("wiki.corp.test",), tenant=("10.0.0.0/8",)), strict=False)
    assert judge_name(lists, WIKI, 443) == Listed("manifest")
    assert judge_name(lists, host("10.1.2.3"), 80) == Listed("tenant")


def test_an_unlisted_name_goes_on_either_list() -> None:
    denial = unlisted("api.test", 8443, manifest=("api.test",))
    assert (denial.kind, denial.host, denial.port) == ("unlisted", "api.test", 8443)
    assert denial.remedy == ("manifest", "tenant")
    assert (denial.address_class, denial.address) == ("", "")
    assert "'api.test:8443'" in denial.fix
    assert "manifest's egress" in denial.fix
    assert "tenant's list" in denial.fix


@pytest.mark.parametrize(
    ("asked", "of", "remedy"),
    [
        ("11.22.33.44", "public", ("manifest", "tenant")),
        ("[2600:ffff::44]", "public", ("manifest", "tenant")),
        ("10.11.12.13", "private", ("tenant",)),
        ("[fd12::5]", "private", ("tenant",)),
        ("[::ffff:10.11.12.13]", "private", ("tenant",)),
        ("169.254.169.254", "metadata", ()),
        ("127.0.0.1", "loopback", ()),
    ],
)
def test_an_unlisted_address_goes_where_it_opens_something(
    asked: str, of: str, remedy: tuple[str, ...]
) -> None:
    denial = unlisted(asked)
    assert (denial.kind, denial.address_class, denial.remedy) == ("unlisted", of, remedy)
    assert Literal(ip_address(denial.address)) == host(asked)
    assert ("tenant's list" in denial.fix) is bool(remedy)
    assert ("manifest" in denial.fix) is ("manifest" in remedy)


def test_an_entry_is_for_what_was_asked_not_for_what_it_resolves_to() -> None:
    """A tenant's address does not open a manifest's name, nor the name the address."""
    lists = Lists.read(
        Egress(manifest=("wiki.corp.test",), tenant=("10.11.12.13", "10.0.0.0/8")), strict=False
    )
    listed = judge_name(lists, WIKI, 443)
    assert isinstance(listed, Listed)
    assert isinstance(judge_addresses(listed, WIKI, 443, (PRIVATE,)), Denial)
    assert unlisted("10.11.12.13", tenant=("wiki.corp.test",)).kind == "unlisted"


def test_what_is_malformed_is_kept_short_and_seen() -> None:
    denial = malformed("api.test\0\x1b[2J" + "x" * 5000, "the host is not ASCII")
    assert denial.host.startswith(r"api.test\u{0000}\u{001B}[2J")
    assert len(denial.host) < 400
    assert denial.host.endswith("x…")
    assert malformed("a..b" + "x" * 200, "why").host == "a..b" + "x" * 200
    assert (denial.kind, denial.port, denial.remedy) == ("malformed", 0, ())
    assert denial.fix == "the host is not ASCII; send a plain host and port: no list changes this"
    assert malformed("api.test", "why", 65535).port == 65535


def test_a_mismatch_names_the_host_that_was_checked() -> None:
    denial = mismatch(WIKI, 443)
    assert (denial.kind, denial.host, denial.port, denial.remedy) == ("mismatch", "wiki.corp.test", 443, ())
    assert "no list" in denial.fix
    assert "TLS server name" in denial.fix


def test_a_record_is_plain_values() -> None:
    """It goes through JSON to the harness: no class of ours in it."""
    for denial in (
        judge_addresses(Listed("manifest"), WIKI, 443, (LOOP,)),
        unlisted("127.0.0.1"),
        unlisted("a.test"),
    ):
        assert isinstance(denial, Denial)
        assert {type(each) for each in asdict(denial).values()} <= {str, int, tuple}


@pytest.mark.parametrize(
    "asked", ["wiki.corp.test", "10.11.12.13", "11.22.33.44", "[fd12:3456:789a::5]", "[::ffff:a0b:c0d]"]
)
@pytest.mark.parametrize("port", [443, 8443])
@pytest.mark.parametrize("which", [0, -1])
def test_who_follows_the_proposals_gets_there(asked: str, port: int, which: int) -> None:
    """Refused, proposed, added, asked again, until it is allowed: two proposals at the most."""
    lists: dict[str, tuple[str, ...]] = {"manifest": (), "tenant": ()}
    goal = host(asked)
    addresses = (goal.address,) if isinstance(goal, Literal) else (PRIVATE, PUBLIC)
    for _ in range(3):
        held = Lists.read(Egress(**lists))
        assert isinstance(held, Lists), "a proposal that lint refuses"
        answer = judge_name(held, goal, port)
        if isinstance(answer, Listed):
            answer = judge_addresses(answer, goal, port, addresses)
        if not isinstance(answer, Denial):
            assert answer == addresses
            return
        (proposal,) = propose([answer])
        assert proposal.entry in answer.fix
        assert proposal.lists == answer.remedy
        lists[proposal.lists[which]] += (proposal.entry,)
    pytest.fail(f"still refused: {answer}")


@pytest.mark.parametrize("of", [each for each in AddressClass if each.kind == "special"])
def test_what_no_list_opens_has_no_remedy(of: AddressClass) -> None:
    assert "x.test" not in words.fix("special", (), "x.test")
    assert propose([Denial(kind="special", host="x.test", port=443, address_class=of)]) == ()
