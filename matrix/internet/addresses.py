"""The addresses that rows name by symbols: `$PRIV10` and the rest of testdata/addresses.json.

Pure but for the file, which is read once.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

from matrix import locate

_SYMBOL = re.compile(r"\$([A-Z0-9][A-Z0-9_]*)")
_MANY = re.compile(r"\$([A-Z0-9][A-Z0-9_]*)\*([0-9]{1,3})")
_THEIRS = frozenset({"MARKER", "PROXY", "PORT"})
"""What only the attack knows: left as it is."""

_APART = 1024
"""How far from the symbol's own address the many made from it begin: beyond every other symbol's."""


@dataclass(frozen=True, kw_only=True)
class Symbol:
    """One address of the table."""

    name: str
    address: str
    address_class: str
    observe: str = ""  # "dial-log": no listener can see a dial to it

    @property
    def arrives(self) -> str:
        """The address at which a dial to it is seen to arrive."""
        return arrives(self.address)


@functools.cache
def symbols() -> Mapping[str, Symbol]:
    """Every symbol by its name."""
    given = json.loads((locate.testdata() / "addresses.json").read_text(encoding="utf-8"))
    return {
        name: Symbol(
            name=name, address=each["address"], address_class=each["class"], observe=each.get("observe", "")
        )
        for name, each in given.items()
        if not name.startswith("$")
    }


def spell(text: str) -> str:
    """The text with every symbol replaced by its address. Raises KeyError for an unknown one.

    `$MARKER`, `$PROXY` and `$PORT` stay: the attack fills them in.
    """

    def address(found: re.Match[str]) -> str:
        return found[0] if found[1] in _THEIRS else symbols()[found[1]].address

    return _SYMBOL.sub(address, text)


def addresses(text: str) -> tuple[str, ...]:
    """The addresses of one word of a row: a symbol, an address as it is, or `$PUB4_A*63` for so many.

    The many are distinct, of the same class, and no other symbol's. Raises KeyError for an unknown symbol.
    """
    if many := _MANY.fullmatch(text):
        first = ip_address(symbols()[many[1]].address)
        return tuple(str(first + _APART + count) for count in range(int(many[2])))
    return (spell(text),)


def arrives(address: str) -> str:
    """Where a dial to an address is seen to arrive, in canonical spelling.

    The kernel takes an IPv4-mapped address for the one inside, and the unspecified for the loopback's.
    """
    match ip_address(address):
        case IPv6Address(ipv4_mapped=IPv4Address() as inside):
            return arrives(str(inside))
        case found if found.is_unspecified:
            return "127.0.0.1" if found.version == 4 else "::1"  # noqa: PLR2004 - the version's number
        case found:
            return str(found)
