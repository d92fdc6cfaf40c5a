"""The networks of each kind say what the table of addresses says, as far as a prefix can."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.networks import networks
from runners.tier1.addresses import Kind, classify

KINDS: tuple[Kind, ...] = ("special", "private", "public")


def of(address: IPv4Address | IPv6Address) -> list[Kind]:
    return [kind for kind in KINDS if any(address in each for each in networks(kind))]


@settings(deadline=None, database=None)
@given(st.ip_addresses(v=4))
def test_every_ipv4_address_is_of_the_kind_that_the_table_says(address: IPv4Address) -> None:
    assert of(address) == [classify(address).kind]


@settings(deadline=None, database=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 0xFFFF << 48, 0x64FF9B << 96, 0x64FF9B0001 << 80]))
def test_so_is_one_inside_an_ipv6_address(inside: int, before: int) -> None:
    if before or inside > 1:
        assert of(IPv6Address(before | inside)) == [classify(IPv6Address(before | inside)).kind]


@settings(deadline=None, database=None)
@given(st.ip_addresses(v=6, network="2002::/16"))
def test_6to4_too(address: IPv6Address) -> None:
    if int(address) >> 32 & 0xFFFF != 0x5EFE:  # ISATAP's
        assert of(address) == [classify(address).kind]


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        *(("::1", "special"), ("::", "special"), ("fe80::1", "special"), ("ff02::fb", "special")),
        *(
            ("fd12::5", "private"),
            ("fec0::5", "special"),
            ("2600:ffff::44", "public"),
            ("4000::1", "special"),
        ),
        *(("2001:db8::1", "special"), ("64:ff9b::a0b:c0d", "private"), ("64:ff9b::b16:212c", "public")),
        ("2001:0:4136:e378:8000:63bf:f5f4:f3f2", "special"),  # Teredo, whatever is inside
    ],
)
def test_single_addresses(address: str, kind: Kind) -> None:
    assert of(ip_address(address)) == [kind]


def test_mapped_addresses_are_left_to_the_ipv4_lines() -> None:
    assert of(ip_address("::ffff:10.11.12.13")) == []
