"""Proxies that ask for names wrongly, or dial something else than they judged."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import replace
from ipaddress import ip_address
from typing import cast

import dns.exception
import dns.message
import dns.query
import dns.rdatatype

from matrix.tests.wrong.double import wrong
from runners.contract import Denial, Egress
from runners.tier1.addresses import Address
from runners.tier1.head import Head
from runners.tier1.hosts import Literal, Name
from runners.tier1.judge import Listed
from runners.tier1.lists import Lists
from runners.tier1.proxy import Proxy
from runners.tier1.resolve import Dns, Unreached
from runners.tier1.visit import Visit


@wrong("dns-rebind-check-connect", "dns-rebind-check-connect-http")
class CheckThenRedial(Proxy):
    """Checks one answer, and dials by name again."""

    async def reached(self, head: Head, addresses: tuple[Address, ...]) -> socket.socket | Unreached:
        again = await self.resolved(head)
        return await super().reached(head, addresses if isinstance(again, Unreached) else again)


@wrong("record-connect-refused-not-denial", "refusal-error-not-leaked")
class AsksAgain(Proxy):
    """Asks for the name again where nobody took the connection."""

    async def reached(self, head: Head, addresses: tuple[Address, ...]) -> socket.socket | Unreached:
        found = await super().reached(head, addresses)
        again = await self.resolved(head) if isinstance(found, Unreached) else found
        return await super().reached(head, again) if isinstance(again, tuple) else again


@wrong("basic-unlisted-not-resolved", "basic-unlisted-not-resolved-http", "dns-cname-from-unlisted")
class ResolvesFirst(Proxy):
    """Resolves before it matches."""

    async def opened(self, visit: Visit, head: Head) -> socket.socket | Denial | Unreached:
        await self.resolved(head)
        return await super().opened(visit, head)


@wrong("dns-timeout", "dns-servfail", "record-dns-failure-not-denial")
class FailOpenDns(Proxy):
    """Takes a name that it could not resolve for a public one, and leaves it to the dialler."""

    def __init__(self, egress: Egress, own: frozenset[Address] = frozenset()) -> None:
        super().__init__(egress, own, resolver=lambda egress: Dns(egress.resolver, seconds=0.5))

    async def opened(self, visit: Visit, head: Head) -> socket.socket | Denial | Unreached:
        found = await super().opened(visit, head)
        again = await self.resolved(head) if isinstance(found, Unreached) else found
        return await self.reached(head, again) if isinstance(again, tuple) else again


@wrong("dns-search-domain", "name-search-domain")
class SearchList(Proxy):
    """Looks for a name that is not there below its own domain."""

    async def resolved(self, head: Head) -> tuple[Address, ...] | Unreached:
        found = await super().resolved(head)
        if not isinstance(found, Unreached):
            return found
        return await super().resolved(replace(head, host=Name(f"{head.host}.corp.test")))


@wrong("dns-rebind-forward", "dns-rebind-keepalive", refused=("dns-rebind-back",))
class CachesAnswers(Proxy):
    """Keeps an answer for longer than it holds."""

    def _take(self, egress: Egress, lists: Lists) -> None:
        super()._take(egress, lists)
        self.answers: dict[str, tuple[Address, ...] | Unreached] = {}

    async def resolved(self, head: Head) -> tuple[Address, ...] | Unreached:
        if str(head.host) not in self.answers:
            self.answers[str(head.host)] = await super().resolved(head)
        return self.answers[str(head.host)]


@wrong(refused=("basic-connect-v6",))
class AsksForFourAlone(Proxy):
    """Asks for no IPv6 addresses."""

    async def resolved(self, head: Head) -> tuple[Address, ...] | Unreached:
        found = await super().resolved(head)
        if isinstance(found, Unreached):
            return found
        return tuple(each for each in found if each.version == 4) or Unreached(502, "no address")


@wrong("dns-spoof-public", refused=("dns-truncated-spoof",))
class BelievesAnyDatagram(Proxy):
    """Takes the first datagram for the answer, whatever was asked in it."""

    async def resolved(self, head: Head) -> tuple[Address, ...] | Unreached:
        if isinstance(head.host, Literal):
            return (head.host.address,)
        return await asyncio.to_thread(first_datagram, str(head.host), ("127.0.0.1", 53))


def first_datagram(name: str, at: tuple[str, int]) -> tuple[Address, ...] | Unreached:
    """The IPv4 addresses in the first datagram that comes back."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(1.0)
        sock.sendto(dns.message.make_query(f"{name}.", "A").to_wire(), at)
        try:
            answer = dns.message.from_wire(sock.recv(1 << 14), ignore_trailing=True)
        except (OSError, dns.exception.DNSException):
            return Unreached(502, "the name could not be resolved")
    texts = [str(each) for lines in answer.answer for each in lines if lines.rdtype == dns.rdatatype.A]
    return tuple(ip_address(text) for text in texts) or Unreached(502, "the name has no address")


@wrong("dns-cname-to-tenant", "dns-cname-from-unlisted")
class TrustsAliases(Proxy):
    """Matches the names that an answer leads over as well as the one that was asked for."""

    async def opened(self, visit: Visit, head: Head) -> socket.socket | Denial | Unreached:
        self.alias = await asyncio.to_thread(last_name, str(head.host), ("127.0.0.1", 53))
        return await super().opened(visit, head)

    def listed(self, head: Head) -> Listed | Denial:
        found, beside = super().listed(head), super().listed(replace(head, host=self.alias))
        return max(found, beside, key=lambda each: isinstance(each, Listed) and each.which == "tenant")


def last_name(name: str, at: tuple[str, int]) -> Name:
    """The name at the end of the chain."""
    try:
        answer = dns.query.udp(dns.message.make_query(f"{name}.", "A"), at[0], 1.0, at[1])
        found = cast("dns.message.QueryMessage", answer).resolve_chaining().canonical_name
    except (OSError, dns.exception.DNSException):
        return Name(name)
    return Name(found.to_text(omit_final_dot=True))


@wrong("spell-public-literal-of-name", "private-tenant-name-covers-only-that-name")
class OpensAddresses(Proxy):
    """Opens the addresses of listed names, as a packet filter would, by whatever name they are asked for."""

    open: frozenset[Address] = frozenset()

    async def opened(self, visit: Visit, head: Head) -> socket.socket | Denial | Unreached:
        hosts = [entry.host for entry in (*self.lists.tenant, *self.lists.manifest)]
        answers = [await self.resolver.resolve(host.text) for host in hosts if isinstance(host, Name)]
        self.open = frozenset(each for found in answers if isinstance(found, tuple) for each in found)
        tenants = [entry.host for entry in self.lists.tenant]
        answers = [await self.resolver.resolve(host.text) for host in tenants if isinstance(host, Name)]
        self.inside = frozenset(each for found in answers if isinstance(found, tuple) for each in found)
        return await super().opened(visit, head)

    def listed(self, head: Head) -> Listed | Denial:
        known = isinstance(head.host, Literal) and head.host.address in self.open
        return Listed("manifest") if known else super().listed(head)

    def permitted(
        self, listed: Listed, head: Head, addresses: tuple[Address, ...]
    ) -> tuple[Address, ...] | Denial:
        return addresses if self.inside.issuperset(addresses) else super().permitted(listed, head, addresses)
