"""Every address is what its source says, at both ends of every range, and a wrong table is noticed."""

from __future__ import annotations

import json
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runners.tier1.addresses import RANGES, Address, AddressClass, classes, classify, worst
from runners.tier1.embedded import CARRIERS, embedded

IPV4 = """
unspecified    0.0.0.0
this-network   0.0.0.1 0.255.255.255
public         1.0.0.0 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
public         168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0
public         191.255.255.255 192.0.1.0 192.0.1.255 192.0.3.0 192.31.195.255 192.31.197.0 192.52.192.255
public         192.52.194.0 192.88.98.255 192.88.100.0 192.167.255.255 192.169.0.0 192.175.47.255
public         192.175.49.0 198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0 203.0.112.255
public         203.0.114.0 223.255.255.255 8.8.8.8
private        10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 100.100.100.200 172.16.0.0
private        172.31.255.255 192.168.0.0 192.168.255.255
loopback       127.0.0.0 127.0.0.1 127.255.255.255
platform       168.63.129.16
link-local     169.254.0.0 169.254.169.253 169.254.169.255 169.254.255.255
metadata       169.254.169.254
protocol       192.0.0.0 192.0.0.192 192.0.0.255 192.31.196.1 192.52.193.1 192.88.99.1 192.175.48.1
documentation  192.0.2.0 192.0.2.255 198.51.100.0 198.51.100.255 203.0.113.0 203.0.113.255
benchmarking   198.18.0.0 198.19.255.255
multicast      224.0.0.0 239.255.255.255
reserved       240.0.0.0 255.255.255.254
broadcast      255.255.255.255
"""
IPV6 = """
unspecified    ::
loopback       ::1
reserved       100::1 100:0:0:1::1 200::1 400::1 1fff:ffff:: 4000:: 5f00::1 fbff:ffff:: fe00::
reserved       fe7f:ffff::
public         2000:: 2001:200:: 2001:db7:ffff:: 2001:db9:: 2001:4860:4860::8888 2003:: 2600:ffff::44
public         2620:4f:7fff:: 2620:4f:8001:: 3ffe:ffff:: 3fff:1000:: 3fff:ffff::
protocol       2001:1::1 2001:2:1::1 2001:3::1 2001:4:112::1 2001:10::1 2001:20::1 2001:30::1
protocol       2001:1ff:ffff:: 2620:4f:8000::1
benchmarking   2001:2::1
documentation  2001:db8::1 3fff::1 3fff:fff:ffff::
private        fc00:: fd00:ec2::254 fdff:ffff::
link-local     fe80::1 febf:ffff::
site-local     fec0::1 feff:ffff::
multicast      ff00:: ff02::fb ff0e::1 ffff:ffff::
"""
EMBEDDED = """
this-network   ::2
private        ::10.1.2.3 ::ffff:10.1.2.3 ::ffff:100.64.9.10 ::ffff:172.31.255.255 ::ffff:0:10.1.2.3
private        64:ff9b::10.1.2.3 64:ff9b::100.127.255.255 64:ff9b:1::10.1.2.3 64:ff9b:1:a01:2:300::
private        64:ff9b:1:a:1:203:: 64:ff9b:1:0:a:102:300:: 64:ff9b:1:0:a:102:308:808 2002:a01:203::
private        2002:a01:203::1 2002:6440:90a::1 2002:b16:212c::5efe:a01:203
private        2001:0:4136:e378:8000:63bf:f5fe:fdfc 2001:0:a01:203:8000:63bf:f4e9:ded3
private        2600:ffff::5efe:a01:203 2600:ffff::200:5efe:a01:203 fd12::5efe:b16:212c
loopback       ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:0:127.0.0.1 64:ff9b:1::127.0.0.1
loopback       64:ff9b:1:7f00:0:100:: 2002:7f00:1:: 2001:0:4136:e378:8000:63bf:80ff:fffe
loopback       fd12::5efe:7f00:1
public         ::11.22.33.44 ::ffff:172.32.0.0 ::ffff:11.22.33.44 ::ffff:0:11.22.33.44
public         64:ff9b::11.22.33.44 64:ff9b:1::11.22.33.44 64:ff9b:1:b16:21:2c00:: 2002:b16:212c::1
public         2001:0:4136:e378:8000:63bf:f4e9:ded3 2600:ffff::5efe:b16:212c 2600:ffff::100:5efe:a01:203
public         2600:ffff:5efe:a01:203::1 2600:ffff::5eff:a01:203
unspecified    ::ffff:0.0.0.0 64:ff9b:1::
multicast      ::ffff:224.0.0.1
platform       ::ffff:168.63.129.16
broadcast      ::ffff:255.255.255.255
metadata       ::ffff:169.254.169.254 64:ff9b::169.254.169.254 2002:a9fe:a9fe::1
reserved       ::fffe:10.1.2.3 ::1:ffff:10.1.2.3 64:ff9b:0:0:1::10.1.2.3 64:ff9c::10.1.2.3
reserved       64:ff9b:2::10.1.2.3
link-local     fe80::5efe:a01:203
documentation  2001:db8::5efe:b16:212c
"""


def table(text: str) -> dict[Address, str]:
    lines = [line.split() for line in text.strip().splitlines()]
    return {ip_address(each): of for of, *addresses in lines for each in addresses}


ALL = table(IPV4) | table(IPV6) | table(EMBEDDED)


def wrong(judged: Callable[[Address], str], kinds: Callable[[str], str] = str) -> list[Address]:
    return [address for address, of in ALL.items() if kinds(judged(address)) != kinds(of)]


def test_every_address_is_what_its_source_says() -> None:
    assert [(str(each), str(classify(each)), ALL[each]) for each in wrong(classify)] == []


def kind(of: str) -> str:
    return AddressClass(of).kind


def only_private_in(*networks: str) -> Callable[[Address], str]:
    listed = [ip_network(each) for each in networks]
    return lambda address: "private" if any(address in each for each in listed) else "public"


def without(*left_out: str) -> Callable[[Address], str]:
    """The table without some of its lines."""
    lines = [(ip_network(text), of) for text, of, _ in RANGES if text not in left_out]
    lines.sort(key=lambda line: -line[0].prefixlen)

    def judged(address: Address) -> str:
        if isinstance(address, IPv6Address):
            return classify(address)
        return next(of for network, of in lines if network.version == address.version and address in network)

    return judged


DOUBLES: dict[str, Callable[[Address], str]] = {
    "the standard library's is_private": lambda each: "private" if each.is_private else "public",
    "not the standard library's is_global": lambda each: "public" if each.is_global else "private",
    "RFC 1918 alone": only_private_in("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"),
    "172.16/16 for 172.16/12": only_private_in(
        "10.0.0.0/8", "172.16.0.0/16", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"
    ),
    "ranges too wide": only_private_in("10.0.0.0/8", "172.0.0.0/8", "192.0.0.0/8", "100.0.0.0/8", "fc00::/7"),
    "no 100.64/10": without("100.64.0.0/10"),
    "no metadata": without("169.254.0.0/16", "169.254.169.254/32"),
    "no address of Azure's": without("168.63.129.16/32"),
    "what is not listed is public, in IPv6 too": lambda each: (
        classify(each) if each.version == 4 or classify(each) != "reserved" else "public"
    ),
    "embedded addresses not looked at": lambda each: (
        "public" if each.version == 6 and any(each in network for network, _ in CARRIERS) else classify(each)
    ),
    "embedded public addresses refused": lambda each: (
        "reserved"
        if each.version == 6 and any(each in network for network, _ in CARRIERS)
        else classify(each)
    ),
    "mapped addresses alone unpacked": lambda each: (
        classify(each.ipv4_mapped)
        if isinstance(each, IPv6Address) and each.ipv4_mapped
        else ("public" if each.version == 6 and each in ip_network("64:ff9b::/96") else classify(each))
    ),
}


@pytest.mark.parametrize("double", DOUBLES.values(), ids=DOUBLES)
def test_a_wrong_table_is_noticed(double: Callable[[Address], str]) -> None:
    assert wrong(double, kind)


@pytest.mark.parametrize(
    "line", [each for each in RANGES if not each[0].endswith("/0")], ids=lambda each: each[0]
)
def test_no_line_of_the_table_is_there_in_vain(line: tuple[str, AddressClass, str]) -> None:
    """Some address of the samples is judged by this line, so that leaving it out would be noticed."""
    network = ip_network(line[0])
    inner = [other for text, _, _ in RANGES if (other := ip_network(text)).version == network.version]
    inner = [other for other in inner if other != network and other.subnet_of(network)]
    judged = [each for each in ALL if each in network and not any(each in other for other in inner)]
    assert judged, f"{network}: give a sample"


def test_each_line_has_a_source() -> None:
    assert all(source for _, _, source in RANGES)
    assert len({text for text, _, _ in RANGES}) == len(RANGES)


def test_the_symbols_of_the_rows_are_what_they_are_called() -> None:
    path = Path(__file__).parents[3] / "testdata" / "addresses.json"
    if not path.exists():
        pytest.skip("the rows' addresses are part of a checkout")
    symbols = {name: each for name, each in json.loads(path.read_text()).items() if not name.startswith("$")}
    assert symbols
    assert {n: str(classify(ip_address(e["address"]))) for n, e in symbols.items()} == {
        n: e["class"] for n, e in symbols.items()
    }


def test_the_worst_class_does_not_depend_on_the_order() -> None:
    order = list(AddressClass)
    assert worst(order) == worst(reversed(order)) == AddressClass.SELF
    assert worst([AddressClass.PUBLIC, AddressClass.PRIVATE]) == AddressClass.PRIVATE
    assert worst([AddressClass.PRIVATE, AddressClass.LOOPBACK]) == AddressClass.LOOPBACK
    assert order[-2:] == [AddressClass.PRIVATE, AddressClass.PUBLIC], (
        "what nobody may reach is worse than both"
    )


@given(st.integers(0, 2**128 - 1), st.sampled_from(CARRIERS))
def test_a_carrier_is_never_better_than_what_it_carries(number: int, carrier: tuple) -> None:
    network, read = carrier
    address = IPv6Address(int(network[0]) | number & int(network.hostmask))
    if int(address) > 1:
        of = classify(address)
        assert all(worst([classify(each), of]) == of for each in read(int(address)))


@given(st.integers(0, 2**32 - 1))
def test_every_way_to_write_an_ipv4_address_in_ipv6_is_judged_as_the_address(number: int) -> None:
    plain = classify(IPv4Address(number))
    for prefix in ("::ffff:0:0", "::ffff:0:0:0", "64:ff9b::"):
        assert classify(IPv6Address(int(IPv6Address(prefix)) | number)) == plain
    assert classify(IPv6Address(0x2002 << 112 | number << 80 | 1)) == plain
    teredo = 0x20010000 << 96 | int(IPv4Address("65.54.227.120")) << 64 | (number ^ 0xFFFFFFFF)
    assert classify(IPv6Address(teredo)) == plain
    isatap = int(IPv6Address("2600:ffff::5efe:0:0")) | number
    assert classify(IPv6Address(isatap)) == plain


@given(
    st.integers(1 << 24, 2**32 - 1),
    st.sampled_from([48, 56, 64]),
    st.integers(0, 2**24 - 1),
    st.integers(0, 255),
)
@example(1 << 24, 48, 0, 0)
@example(0xFFFFFFFF, 64, 0, 255)
def test_a_network_of_ones_own_may_put_the_address_where_it_likes(
    number: int, prefix: int, suffix: int, octet: int
) -> None:
    """RFC 6052 2.2: octet 8 divides the address; what stands in it and behind the address is no matter."""
    squeezed = number << 88 - prefix | suffix
    host = squeezed >> 56 << 64 | octet << 56 | squeezed & (1 << 56) - 1
    address = IPv6Address(int(IPv6Address("64:ff9b:1::")) | host)
    assert IPv4Address(number) in embedded(address)
    assert worst([classify(address), classify(IPv4Address(number))]) == classify(address)


@given(st.integers(0, 2**32 - 1))
@example(0)
@example((1 << 24) - 1)
def test_at_its_end_the_address_is_alone(number: int) -> None:
    assert embedded(IPv6Address(int(IPv6Address("64:ff9b:1::")) | number)) == (IPv4Address(number),)


@given(st.integers(0, 2**128 - 1))
def test_only_the_global_unicast_space_and_carriers_are_public(number: int) -> None:
    address = IPv6Address(number)
    if classify(address).kind == "public":
        carried = any(address in network for network, _ in CARRIERS)
        assert carried or address in ip_network("2000::/3")


@pytest.mark.parametrize(
    ("network", "kinds"),
    [
        ("10.0.0.0/8", {"private"}),
        ("10.1.0.0/16", {"private"}),
        ("10.0.0.0/7", {"private", "public"}),
        ("127.0.0.0/8", {"special"}),
        ("127.1.0.0/16", {"special"}),
        ("169.254.0.0/16", {"special"}),
        ("168.63.129.16/32", {"special"}),
        ("168.63.129.0/24", {"special", "public"}),
        ("192.168.0.0/15", {"private", "public"}),
        ("fc00::/7", {"private"}),
        ("fd12::/48", {"private"}),
        ("fe80::/10", {"special"}),
        ("2620::/12", {"special", "public"}),
        ("64:ff9b::/96", {"special", "private", "public"}),
    ],
)
def test_a_range_has_the_classes_of_its_addresses(network: str, kinds: set[str]) -> None:
    assert {each.kind for each in classes(ip_network(network))} == kinds


def test_the_layer_below_reads_addresses_and_judges_none() -> None:
    """Nothing of ours calls what changes from one Python to the next."""
    folder = Path(__file__).parents[1]
    called = [
        f"{path.name}: {word}"
        for path in folder.glob("*.py")
        for word in ("is_private", "is_global", "is_reserved", "is_loopback", "is_link_local", "is_multicast")
        if f".{word}" in path.read_text()
    ]
    assert called == []
