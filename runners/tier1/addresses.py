"""What kind of place an address is: one table, every line with its source.

The standard library's `is_private` and `is_global` change from one patch of Python to the next, know
no embedded addresses and call multicast global: `ipaddress` reads addresses here and judges none.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Literal

from runners.tier1.embedded import CARRIERS, carrier, embedded

Address = IPv4Address | IPv6Address
Kind = Literal["public", "private", "special"]


class AddressClass(StrEnum):
    """The classes, from the worst to the best: of several addresses the first of these counts."""

    SELF = "self"  # the proxy's own; no range says so, the judge does
    METADATA = "metadata"
    PLATFORM = "platform"
    LOOPBACK = "loopback"
    UNSPECIFIED = "unspecified"
    THIS_NETWORK = "this-network"
    LINK_LOCAL = "link-local"
    SITE_LOCAL = "site-local"
    MULTICAST = "multicast"
    BROADCAST = "broadcast"
    PROTOCOL = "protocol"
    BENCHMARKING = "benchmarking"
    DOCUMENTATION = "documentation"
    RESERVED = "reserved"
    PRIVATE = "private"
    PUBLIC = "public"

    @property
    def kind(self) -> Kind:
        """Who may reach it: every list, the tenant's alone, or nobody."""
        match self:
            case AddressClass.PUBLIC:
                return "public"
            case AddressClass.PRIVATE:
                return "private"
            case _:
                return "special"


_C = AddressClass
RANGES: tuple[tuple[str, AddressClass, str], ...] = (
    # IPv4: IANA's special-purpose address registry, and what stands beside it. The longest prefix counts.
    ("0.0.0.0/0", _C.PUBLIC, "what no line below takes away"),
    ("0.0.0.0/8", _C.THIS_NETWORK, "RFC 791 3.2"),
    ("0.0.0.0/32", _C.UNSPECIFIED, "RFC 1122 3.2.1.3"),
    ("10.0.0.0/8", _C.PRIVATE, "RFC 1918"),
    ("100.64.0.0/10", _C.PRIVATE, "RFC 6598: shared address space"),
    ("127.0.0.0/8", _C.LOOPBACK, "RFC 1122 3.2.1.3"),
    ("168.63.129.16/32", _C.PLATFORM, "Azure: what is 168.63.129.16"),
    ("169.254.0.0/16", _C.LINK_LOCAL, "RFC 3927"),
    ("169.254.169.254/32", _C.METADATA, "AWS, Azure, Google Cloud: instance metadata"),
    ("172.16.0.0/12", _C.PRIVATE, "RFC 1918"),
    ("192.0.0.0/24", _C.PROTOCOL, "RFC 6890 2.1; 192.0.0.192 was Oracle Cloud's metadata"),
    ("192.0.2.0/24", _C.DOCUMENTATION, "RFC 5737"),
    ("192.31.196.0/24", _C.PROTOCOL, "RFC 7535: AS112, which any network may answer itself"),
    ("192.52.193.0/24", _C.PROTOCOL, "RFC 7450: multicast tunnels, AMT"),
    ("192.88.99.0/24", _C.PROTOCOL, "RFC 7526: 6to4 relays, deprecated"),
    ("192.168.0.0/16", _C.PRIVATE, "RFC 1918"),
    ("192.175.48.0/24", _C.PROTOCOL, "RFC 7534: AS112"),
    ("198.18.0.0/15", _C.BENCHMARKING, "RFC 2544"),
    ("198.51.100.0/24", _C.DOCUMENTATION, "RFC 5737"),
    ("203.0.113.0/24", _C.DOCUMENTATION, "RFC 5737"),
    ("224.0.0.0/4", _C.MULTICAST, "RFC 5771"),
    ("240.0.0.0/4", _C.RESERVED, "RFC 1112 4"),
    ("255.255.255.255/32", _C.BROADCAST, "RFC 919 7"),
    # IPv6: nothing is public but the global unicast space, and not all of that.
    ("::/0", _C.RESERVED, "RFC 4291 2.4: not given out"),
    ("::/128", _C.UNSPECIFIED, "RFC 4291 2.5.2"),
    ("::1/128", _C.LOOPBACK, "RFC 4291 2.5.3"),
    ("100::/64", _C.RESERVED, "RFC 6666: discard only"),
    ("100:0:0:1::/64", _C.RESERVED, "RFC 9780: dummy prefix"),
    ("2000::/3", _C.PUBLIC, "RFC 4291 2.4, IANA's global unicast space"),
    ("2001::/23", _C.PROTOCOL, "RFC 2928: PCP, TURN, AMT, AS112, ORCHID and what is to come"),
    ("2001:2::/48", _C.BENCHMARKING, "RFC 5180"),
    ("2001:db8::/32", _C.DOCUMENTATION, "RFC 3849"),
    ("2620:4f:8000::/48", _C.PROTOCOL, "RFC 7534: AS112"),
    ("3fff::/20", _C.DOCUMENTATION, "RFC 9637"),
    ("5f00::/16", _C.RESERVED, "RFC 9602: segment identifiers"),
    ("fc00::/7", _C.PRIVATE, "RFC 4193"),
    ("fe80::/10", _C.LINK_LOCAL, "RFC 4291 2.5.6"),
    ("fec0::/10", _C.SITE_LOCAL, "RFC 3879: deprecated, and still routed at some sites"),
    ("ff00::/8", _C.MULTICAST, "RFC 4291 2.7"),
)
"""Range, class, source."""

_NETWORKS = sorted(
    ((ip_network(text), of) for text, of, _ in RANGES), key=lambda line: line[0].prefixlen, reverse=True
)


def classify(address: Address) -> AddressClass:
    """The class of an address; one that carries IPv4 addresses is judged by the worst of those inside."""
    if isinstance(address, IPv4Address):
        return _listed(address)
    carried = [_listed(each) for each in embedded(address)]
    if carrier(address):
        return worst(carried)
    return worst([_listed(address), *carried])


def worst(classes: Iterable[AddressClass]) -> AddressClass:
    """The one that counts of several, whatever their order. Raises ValueError for none."""
    return min(classes, key=list(AddressClass).index)


def classes(network: IPv4Network | IPv6Network) -> frozenset[AddressClass]:
    """The classes that the addresses of a range may have.

    A range that overlaps carriers of IPv4 addresses may have any.
    """
    if any(network.overlaps(carriers) for carriers, _ in CARRIERS if carriers.version == network.version):
        return frozenset(AddressClass)
    inside = {of for listed, of in _NETWORKS if _within(listed, network)}
    around = next(of for listed, of in _NETWORKS if _within(network, listed))
    return frozenset(inside | {around})


def _within(inner: IPv4Network | IPv6Network, outer: IPv4Network | IPv6Network) -> bool:
    return inner.prefixlen >= outer.prefixlen and inner[0] in outer


def _listed(address: Address) -> AddressClass:
    return next(of for network, of in _NETWORKS if address in network)
