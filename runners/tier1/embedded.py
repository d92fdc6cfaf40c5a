"""IPv6 addresses that carry IPv4 addresses: a call to one of them ends at the address inside.

Each form with its source. A NAT64 prefix out of a network's own space cannot be told from other addresses.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, IPv6Network


def _at(number: int, first: int) -> IPv4Address:
    """The IPv4 address that begins at bit `first` of an IPv6 address, counted from the left."""
    return IPv4Address(number >> (96 - first) & 0xFFFFFFFF)


def _last(number: int) -> tuple[IPv4Address, ...]:
    return (_at(number, 96),)


def _nat64_local(number: int) -> tuple[IPv4Address, ...]:
    """RFC 6052 2.2: wherever a prefix of 48, 56, 64 or 96 bits puts the address; octet 8 is left out.

    Which it is the network knows alone, so all count but those in 0.0.0.0/8, which are no address's place.
    """
    squeezed = number >> 64 << 56 | number & (1 << 56) - 1  # 120 bits, without octet 8
    places = [IPv4Address(squeezed >> (88 - prefix) & 0xFFFFFFFF) for prefix in (48, 56, 64)]
    inside = tuple(each for each in (_at(number, 96), *places) if int(each) >> 24)
    return inside or (_at(number, 96),)


def _teredo(number: int) -> tuple[IPv4Address, ...]:
    """The server, and the client, which is written inverted."""
    return _at(number, 32), IPv4Address(~number & 0xFFFFFFFF)


CARRIERS: tuple[tuple[IPv6Network, Callable[[int], tuple[IPv4Address, ...]]], ...] = (
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
    return address not in _NO_CARRIER and any(address in network for network, _ in CARRIERS)


def embedded(address: IPv6Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses inside, none where it carries none."""
    number = int(address)
    inside: tuple[IPv4Address, ...] = ()
    if address not in _NO_CARRIER:
        inside = next((read(number) for network, read in CARRIERS if address in network), ())
    if number >> 32 & 0xFFFFFFFF in _ISATAP:
        inside = (*inside, _at(number, 96))
    return inside
