"""The addresses of each kind as a list of networks, for whoever can judge an address by its prefix alone."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network
from typing import TypeVar

from runners.tier1.addresses import RANGES, Kind

Either = TypeVar("Either", IPv4Network, IPv6Network)

_CARRIERS = (  # where a prefix may stand before an IPv4 address
    IPv6Network("::/96"),
    IPv6Network("::ffff:0:0:0/96"),
    IPv6Network("64:ff9b::/96"),
    IPv6Network("64:ff9b:1::/96"),
    IPv6Network("2002::/16"),
)
_TEREDO = IPv6Network("2001::/32")  # writes the address inside inverted: no prefix of it means anything
_MAPPED = IPv6Network("::ffff:0:0/96")  # another form of an IPv4 address, and treated as one
_NO_CARRIER = (IPv6Network("::/128"), IPv6Network("::1/128"))


@cache
def networks(kind: Kind) -> tuple[IPv4Network | IPv6Network, ...]:
    """Every address of the kind as prefixes: IPv4, IPv6, and IPv4 inside IPv6.

    What is inside Teredo and ISATAP addresses no prefix can say: Teredo's are all called special, ISATAP's
    are whatever the network around them is. Mapped addresses are left to the IPv4 lines.
    """
    ipv4 = _cut(IPv4Network("0.0.0.0/0"), kind)
    ipv6 = _cut(IPv6Network("::/0"), kind)
    for apart in (*_CARRIERS, _TEREDO, _MAPPED):
        ipv6 = [left for each in ipv6 for left in _without(each, apart)]
    for carrier in _CARRIERS:
        ipv6 += [_behind(carrier, each) for each in ipv4]
    if kind == "special":
        ipv6 += [_TEREDO, *_NO_CARRIER]
    return (*collapse_addresses(ipv4), *collapse_addresses(ipv6))


def _cut(whole: Either, kind: Kind) -> list[Either]:
    """What the table calls so: each of its lines but for the longer ones inside that say otherwise."""
    lines = [(ip_network(text), of.kind) for text, of, _ in RANGES]
    mine = [(network, of) for network, of in lines if isinstance(network, type(whole))]
    found: list[Either] = []
    for network in (network for network, of in mine if of == kind):
        left = [network]
        for inner in (inner for inner, of in mine if of != kind and inner.prefixlen > network.prefixlen):
            left = [rest for each in left for rest in _without(each, inner)]
        found += left
    return found


def _without(network: Either, hole: Either) -> Iterable[Either]:
    """The network but for the hole."""
    if network.subnet_of(hole):
        return ()
    return network.address_exclude(hole) if hole.subnet_of(network) else (network,)


def _behind(carrier: IPv6Network, network: IPv4Network) -> IPv6Network:
    """The addresses that carry one of these right behind the carrier's prefix."""
    shift = 128 - carrier.prefixlen - 32
    first = int(carrier.network_address) | int(network.network_address) << shift
    return IPv6Network((first, carrier.prefixlen + network.prefixlen))
