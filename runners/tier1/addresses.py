"""What kind of place an address is: one table, every line with its source.

The standard library's `is_private` and `is_global` change from one patch of Python to the next, know
no embedded addresses and call multicast global: `ipaddress` reads addresses here and judges none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_network
from typing import Literal

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
    ("192.0.0.0/24", _C.PROTOCOL, "RFC 6890 2.1; 192.0.0.192 is Oracle Cloud's metadata"),
    ("192.0.2.0/24", _C.DOCUMENTATION, "RFC 5737"),
    ("192.88.99.0/24", _C.PROTOCOL, "RFC 7526: 6to4 relays, deprecated"),
    ("192.168.0.0/16", _C.PRIVATE, "RFC 1918"),
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
    ("2001::/23", _C.PROTOCOL, "RFC 2928"),
    ("2001:2::/48", _C.BENCHMARKING, "RFC 5180"),
    ("2001:db8::/32", _C.DOCUMENTATION, "RFC 3849"),
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


def _listed(address: Address) -> AddressClass:
    return next(of for network, of in _NETWORKS if address.version == network.version and address in network)


def _at(number: int, first: int) -> IPv4Address:
    """The IPv4 address that begins at bit `first` of an IPv6 address, counted from the left."""
    return IPv4Address(number >> (96 - first) & 0xFFFFFFFF)


def _last(number: int) -> tuple[IPv4Address, ...]:
    return (_at(number, 96),)


def _nat64_local(number: int) -> tuple[IPv4Address, ...]:
    """RFC 6052 2.2: all places where a prefix inside the /48 may put the address, octet 8 left out.

    A place counts if what follows it is zero; 0.0.0.0 says that it was another place.
    """
    squeezed = number >> 64 << 56 | number & (1 << 56) - 1  # 120 bits, without octet 8
    places = [_at(number, 96)]
    for prefix in (48, 56, 64):
        after = 120 - prefix - 32
        if not squeezed & (1 << after) - 1:
            places.append(IPv4Address(squeezed >> after & 0xFFFFFFFF))
    return tuple(each for each in places if int(each)) or (_at(number, 96),)


def _teredo(number: int) -> tuple[IPv4Address, ...]:
    """The server, and the client, which is written inverted."""
    return _at(number, 32), IPv4Address(~number & 0xFFFFFFFF)


_CARRIERS: tuple[tuple[IPv6Network, Callable[[int], tuple[IPv4Address, ...]]], ...] = (
    (IPv6Network("::/96"), _last),  # IPv4-compatible, RFC 4291 2.5.5.1
    (IPv6Network("::ffff:0:0/96"), _last),  # IPv4-mapped, RFC 4291 2.5.5.2
    (IPv6Network("::ffff:0:0:0/96"), _last),  # IPv4-translated, RFC 2765 2.1
    (IPv6Network("64:ff9b::/96"), _last),  # NAT64, RFC 6052 2.1
    (IPv6Network("64:ff9b:1::/48"), _nat64_local),  # NAT64 of one's own network, RFC 8215
    (IPv6Network("2002::/16"), lambda number: (_at(number, 16),)),  # 6to4, RFC 3056 2
    (IPv6Network("2001::/32"), _teredo),  # Teredo, RFC 4380 4
)
_NO_CARRIER = IPv6Network("::/127")  # unspecified and loopback
_ISATAP = (0x00005EFE, 0x02005EFE)  # RFC 5214 6.1: the upper half of the interface identifier


def carrier(address: IPv6Address) -> bool:
    """Whether the address only stands for the IPv4 address inside."""
    return address not in _NO_CARRIER and any(address in network for network, _ in _CARRIERS)


def embedded(address: IPv6Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses inside, none where it carries none."""
    number = int(address)
    inside: tuple[IPv4Address, ...] = ()
    if address not in _NO_CARRIER:
        inside = next((read(number) for network, read in _CARRIERS if address in network), ())
    if number >> 32 & 0xFFFFFFFF in _ISATAP:
        inside = (*inside, _at(number, 96))
    return inside
