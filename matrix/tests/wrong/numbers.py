"""Proxies that list a host as a text, and dial the number that somebody can read in it."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address

from matrix.tests.wrong.double import spelled, target, wrong
from runners.contract import Denial, Egress
from runners.tier1.addresses import Address
from runners.tier1.head import Head
from runners.tier1.hosts import Name
from runners.tier1.judge import Listed
from runners.tier1.lists import Lists
from runners.tier1.proxy import Proxy
from runners.tier1.resolve import Unreached


class Numbers(Proxy):
    """Lists hosts as texts, and dials whatever somebody can read in them."""

    def read(self, text: str) -> Address | None:
        """The address that it sees in a host."""
        raise NotImplementedError

    def _take(self, egress: Egress, lists: Lists) -> None:
        super()._take(egress, lists)
        self.entries = (*egress.manifest, *egress.tenant)

    def asked(self, raw: bytes) -> Head | Denial:
        """A request that is malformed, if there is a number in its host."""
        found = super().asked(raw)
        if not isinstance(found, Denial) or self.read(spelled(raw)) is None:
            return found
        port = int(target(raw).rpartition(":")[2])
        return Head(method="CONNECT", host=Name(spelled(raw)), port=port, path="", headers=(), raw=raw)

    def listed(self, head: Head) -> Listed | Denial:
        """By the text."""
        name = str(head.host).strip("[]")
        meant = any(name == each or (each[0] == "*" and name.endswith(each[1:])) for each in self.entries)
        return Listed("manifest") if meant else super().listed(head)

    async def resolved(self, head: Head) -> tuple[Address, ...] | Unreached:
        """By the number."""
        address = self.read(str(head.host))
        return await super().resolved(head) if address is None else (address,)

    def permitted(
        self, listed: Listed, head: Head, addresses: tuple[Address, ...]
    ) -> tuple[Address, ...] | Denial:
        """What is a name by its text has no class."""
        number = isinstance(head.host, Name) and self.read(str(head.host)) is not None
        return addresses if number else super().permitted(listed, head, addresses)


@wrong("spell-dec-manifest", "spell-hex-manifest", "spell-octal-manifest", "spell-short-manifest")
class InetAtonDial(Numbers):
    """Classifies the text, and dials what inet_aton reads in it."""

    def read(self, text: str) -> Address | None:
        try:
            return IPv4Address(socket.inet_aton(text))
        except (OSError, ValueError):
            return None


@wrong("spell-zone-id", "spell-zone-plain")
class ZoneCut(Numbers):
    """Matches an address with its zone, and dials it without."""

    def read(self, text: str) -> Address | None:
        inside, percent, _ = text.strip("[]").partition("%")
        return IPv6Address(inside) if percent and ":" in inside else None
