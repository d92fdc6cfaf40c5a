"""A name is asked for once, and only what answers that question is believed."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from ipaddress import ip_address

import dns.flags
import dns.message
import dns.rcode
import dns.rrset
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.tier1.resolve import Dns, Unreached
from runners.tier1.tests.bed import HOST, PUBLIC, SIX, looped

NAME = f"{HOST}."
Reply = Callable[[dns.message.Message], list[bytes]]


class Server(asyncio.DatagramProtocol):
    """A DNS server on loopback that says what it is told to."""

    def __init__(self, reply: Reply) -> None:
        self.reply, self.asked = reply, []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        query = dns.message.from_wire(data)
        self.asked.append(query.question[0].to_text())
        for answer in self.reply(query):
            self.transport.sendto(answer, addr)


@asynccontextmanager
async def served(reply: Reply, whole: Reply | None = None) -> AsyncIterator[tuple[Server, Dns]]:
    """A server that answers by UDP, and by TCP where `whole` is given."""
    loop = asyncio.get_running_loop()

    async def tcp(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        query = dns.message.from_wire(await reader.readexactly(int.from_bytes(await reader.readexactly(2))))
        for answer in whole(query) if whole else ():
            writer.write(len(answer).to_bytes(2) + answer)
        writer.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        at = listener.getsockname()
        transport, server = await loop.create_datagram_endpoint(lambda: Server(reply), local_addr=at)
        try:
            async with await asyncio.start_server(tcp, sock=listener):
                yield server, Dns(at, seconds=0.3)
        finally:
            transport.close()


def answered(query: dns.message.Message, *lines: str, rcode: str = "NOERROR", flags: int = 0) -> bytes:
    """An answer with those of these records, "[name] type data", that are of the asked type or CNAMEs."""
    made = dns.message.make_response(query)
    made.flags |= flags
    made.set_rcode(dns.rcode.from_text(rcode))
    for line in lines:
        name, kind, data = line.split() if line.count(" ") == 2 else (NAME, *line.split())
        if kind in ("CNAME", dns.rdatatype.to_text(query.question[0].rdtype)):
            made.answer.append(dns.rrset.from_text(name, 0, "IN", kind, data))
    return made.to_wire()


def says(*lines: str, rcode: str = "NOERROR") -> Reply:
    return lambda query: [answered(query, *lines, rcode=rcode)]


@looped
async def test_both_types_are_asked_once_and_taken_in_turns() -> None:
    async with served(says(f"A {PUBLIC}", "A 11.22.33.55", f"AAAA {SIX}")) as (server, resolver):
        found = await resolver.resolve(HOST)
    assert found == tuple(map(ip_address, (SIX, PUBLIC, "11.22.33.55")))
    assert sorted(server.asked) == [f"{NAME} IN A", f"{NAME} IN AAAA"]


@looped
async def test_a_chain_of_names() -> None:
    chain = ("CNAME a.mid.test.", "a.mid.test. CNAME b.mid.test.", f"b.mid.test. A {PUBLIC}")
    async with served(says(*chain)) as (_, resolver):
        assert await resolver.resolve(HOST) == (ip_address(PUBLIC),)


@looped
async def test_64_answers() -> None:
    many = [f"11.22.34.{each}" for each in range(64)]
    async with served(says(*(f"A {each}" for each in many))) as (_, resolver):
        assert await resolver.resolve(HOST) == tuple(map(ip_address, many))


WRONG: dict[str, tuple[Reply, int]] = {
    "no such name": (says(rcode="NXDOMAIN"), 502),
    "no address": (says(), 502),
    "the server failed": (says(f"A {PUBLIC}", rcode="SERVFAIL"), 502),
    "the server refused": (says(rcode="REFUSED"), 502),
    "an address of no such name": (says(f"A {PUBLIC}", rcode="NXDOMAIN"), 502),
    "a loop of names": (says("CNAME l.test.", f"l.test. CNAME {NAME}"), 502),
    "the end of the chain is missing": (says("CNAME l.test."), 502),
    "another name's address": (says(f"other.test. A {PUBLIC}"), 502),
    "silence": (lambda _: [], 504),
    "half an answer": (
        lambda query: [answered(query, f"A {PUBLIC}")] if "AAAA" not in str(query) else [],
        504,
    ),
    "one of two failed": (
        lambda query: [
            answered(query, f"A {PUBLIC}", rcode="SERVFAIL" if "AAAA" in str(query) else "NOERROR")
        ],
        502,
    ),
    "another number": (lambda query: [b"\0\0" + answered(query, f"A {PUBLIC}")[2:]] if query.id else [], 504),
    "no answer but a question": (lambda query: [query.to_wire()], 504),
    "another question": (
        lambda query: [answered(dns.message.make_query("o.test.", "A", id=query.id), f"o.test. A {PUBLIC}")],
        504,
    ),
    "cut off": (lambda query: [answered(query, f"A {PUBLIC}", f"AAAA {SIX}")[:-3]], 504),
    "a pointer to itself": (
        lambda query: [
            answered(query)[:6] + b"\0\1\0\0\0\0" + query.to_wire()[12:] + b"\xc0\x22" + bytes(10)
        ],
        504,
    ),
    "more behind its end": (lambda query: [answered(query, f"A {PUBLIC}", f"AAAA {SIX}") + b"x"], 504),
    "truncated, and nothing over TCP": (lambda query: [answered(query, flags=dns.flags.TC)], 502),
}


@pytest.mark.parametrize(("reply", "status"), WRONG.values(), ids=WRONG.keys())
@looped
async def test_an_error_and_nothing_to_dial(reply: Reply, status: int) -> None:
    async with served(reply) as (server, resolver):
        found = await resolver.resolve(HOST)
    assert isinstance(found, Unreached)
    assert found.status == status
    assert "test" not in found.why
    assert len(server.asked) == 2  # never twice the same


@looped
async def test_a_forged_answer_before_the_true_one_is_ignored() -> None:
    def reply(query: dns.message.Message) -> list[bytes]:
        true = answered(query, f"A {PUBLIC}")
        forged = answered(query, "A 10.11.12.13")
        return [struct.pack(">H", query.id ^ 1) + forged[2:], b"", b"\0", forged[:-1], true]

    async with served(reply) as (_, resolver):
        assert await resolver.resolve(HOST) == (ip_address(PUBLIC),)


@looped
async def test_what_is_truncated_is_asked_for_over_tcp() -> None:
    cut: Reply = lambda query: [answered(query, flags=dns.flags.TC)]  # noqa: E731
    many = [f"A 11.22.{high}.{low}" for high in (34, 35) for low in range(200)]
    async with served(cut, says(*many)) as (_, resolver):
        assert len(await resolver.resolve(HOST)) == 400
    for whole in (lambda _: [b"\0" * 40], lambda _: [b"x" * 20000], lambda _: [], cut):
        async with served(cut, whole) as (_, resolver):
            assert isinstance(await resolver.resolve(HOST), Unreached)


@looped
async def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        at = listener.getsockname()
    assert await Dns(at, seconds=0.3).resolve(HOST) == Unreached(502, "the name could not be resolved")


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=60), st.integers(0, 3), st.integers(0, 80), st.binary(max_size=4))
def test_whatever_comes_ends_and_is_no_error_of_ours(
    tail: bytes, records: int, where: int, spoilt: bytes
) -> None:
    """Answers to the right question whose records are anything."""

    def reply(query: dns.message.Message) -> list[bytes]:
        true = answered(query, f"A {PUBLIC}", f"AAAA {SIX}")
        loose = answered(query)[:6] + bytes([0, records]) + bytes(4) + query.to_wire()[12:] + tail
        cut = max(2, min(where, len(true)))
        return [loose, true[:cut] + spoilt + true[cut + len(spoilt) :]]

    @looped
    async def asked() -> None:
        async with served(reply) as (_, resolver):
            found = await Dns(resolver._at, seconds=0.02).resolve(HOST)
        assert isinstance(found, Unreached | tuple)
        assert found

    asked()
