"""Asks the node's resolver what a name resolves to: all its addresses, or none at all.

One question for A and one for AAAA, both at once, each from a port of its own; nothing is asked twice
and nothing is kept, so what is judged is what was just answered. Where one of the two is not answered,
neither counts. dnspython reads the answers; a question is twelve bytes and a name.

Sources: RFC 1035 4.1 and 4.2, RFC 5452 (whom to believe), RFC 8305 4 (the order of families).
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import struct
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from ipaddress import ip_address
from itertools import chain, zip_longest
from typing import Protocol, cast

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdataclass
import dns.rdatatype

from runners.tier1.addresses import Address
from runners.tier1.turns import receive, send

SECONDS = 3.0
"""For a whole answer, both types and every way of asking included."""
_MOST_BYTES = 1 << 14  # of an answer over TCP; 64 addresses have some 1,100
_TYPES = (dns.rdatatype.AAAA, dns.rdatatype.A)


@dataclass(frozen=True)
class Unreached:
    """Nothing was refused, yet nothing was reached: a gateway's error, never a denial.

    `why` is said to the command: no address is in it, nor a name on the way.
    """

    status: int  # 502: it went wrong; 504: there was no answer in time
    why: str


class Resolver(Protocol):
    """Whom the proxy asks for names."""

    async def resolve(self, name: str) -> tuple[Address, ...] | Unreached:
        """Every address of the name, IPv6 and IPv4 in turns, at least one."""
        ...


class _NoAnswerError(Exception):
    """The resolver said that it does not know."""


@dataclass(frozen=True)
class _Question:
    """What is asked, under a number that nobody can guess."""

    number: int
    name: dns.name.Name
    kind: dns.rdatatype.RdataType

    def wire(self) -> bytes:
        head = struct.pack(">6H", self.number, dns.flags.RD, 1, 0, 0, 0)
        return head + (self.name.to_wire() or b"") + struct.pack(">2H", self.kind, dns.rdataclass.IN)

    def answered_by(self, data: bytes) -> dns.message.QueryMessage | None:
        """The answer to this very question, None where it is none."""
        try:
            answer = dns.message.from_wire(data)
        except (dns.exception.DNSException, ValueError):
            return None
        if not isinstance(answer, dns.message.QueryMessage) or not answer.flags & dns.flags.QR:
            return None
        asked = [(each.name, each.rdtype, each.rdclass) for each in answer.question]
        same = answer.id == self.number and asked == [(self.name, self.kind, dns.rdataclass.IN)]
        return answer if same else None


class Dns:
    """A resolver by DNS over UDP, and over TCP where an answer is too long for that."""

    def __init__(self, resolver: tuple[str, int], seconds: float = SECONDS) -> None:
        self._at = resolver
        self._family = socket.AF_INET6 if ":" in resolver[0] else socket.AF_INET
        self._seconds = seconds

    async def resolve(self, name: str) -> tuple[Address, ...] | Unreached:
        """Every address of the name, IPv6 and IPv4 in turns, at least one. The name is asked for as it is."""
        try:
            async with asyncio.timeout(self._seconds):
                six, four = await self._ask(dns.name.from_text(f"{name}."))
        except TimeoutError:
            return Unreached(504, "the name could not be resolved in time")
        except (OSError, _NoAnswerError, dns.exception.DNSException):
            return Unreached(502, "the name could not be resolved")
        turns = chain.from_iterable(zip_longest(six, four))
        return tuple(each for each in turns if each) or Unreached(502, "the name has no address")

    async def _ask(self, name: dns.name.Name) -> list[tuple[Address, ...]]:
        """The answers to all questions; they wait for one another in no order but ours."""
        loop = asyncio.get_running_loop()
        with ExitStack() as stack:
            asked: list[tuple[_Question, socket.socket]] = []
            for kind in _TYPES:
                question = _Question(secrets.randbits(16), name, kind)
                sock = stack.enter_context(self._socket(socket.SOCK_DGRAM))
                await loop.sock_connect(sock, self._at)
                sock.send(question.wire())
                asked.append((question, sock))
            return [_addresses(await self._answer(question, sock)) for question, sock in asked]

    async def _answer(self, question: _Question, sock: socket.socket) -> dns.message.QueryMessage:
        """The first datagram that answers this very question; any other may be forged."""
        while True:
            answer = question.answered_by(await receive(sock, _MOST_BYTES))
            if answer is not None:
                return await self._whole(question) if answer.flags & dns.flags.TC else answer

    async def _whole(self, question: _Question) -> dns.message.QueryMessage:
        """The same question over TCP."""
        loop = asyncio.get_running_loop()
        with self._socket(socket.SOCK_STREAM) as sock:
            await loop.sock_connect(sock, self._at)
            wire = question.wire()
            await send(sock, len(wire).to_bytes(2) + wire)
            size = int.from_bytes(await _exactly(sock, 2))
            if size > _MOST_BYTES:
                raise _NoAnswerError
            answer = question.answered_by(await _exactly(sock, size))
        if answer is None or answer.flags & dns.flags.TC:
            raise _NoAnswerError
        return answer

    def _socket(self, kind: socket.SocketKind) -> socket.socket:
        sock = socket.socket(self._family, kind)
        sock.setblocking(False)
        return sock


async def _exactly(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = await receive(sock, size - len(data))
        if not more:
            raise _NoAnswerError
        data += more
    return data


def _addresses(answer: dns.message.QueryMessage) -> tuple[Address, ...]:
    """The addresses at the end of the chain of names; none where the name or the type is not there."""
    if answer.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
        raise _NoAnswerError
    found = answer.resolve_chaining().answer if answer.answer else ()
    return tuple(ip_address(str(each)) for each in cast("Iterable[object]", found or ()))
