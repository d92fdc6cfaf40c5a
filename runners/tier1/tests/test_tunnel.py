"""A tunnel: bytes as they are, and no hello that names another host."""

from __future__ import annotations

import asyncio
import random
import socket
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.tier1.tests.bed import GOOD, HOST, PUBLIC, Bed, hello, looped, records, until
from runners.tier1.tests.test_hello import extended, names


@looped
async def test_bytes_pass_unaltered_both_ways_at_once() -> None:
    said = random.Random(1).randbytes(3_000_000)
    async with Bed() as bed:
        client = await bed.tunnel()
        client.writer.write(said)
        assert await client.exactly(len(said)) == said
        assert bed.arrived[0] == said


@looped
async def test_what_is_said_before_the_answer_is_kept() -> None:
    async with Bed() as bed:
        client = await (await bed.client()).say(GOOD + b"early")
        await client.head()
        assert await client.exactly(5) == b"early"


@looped
async def test_a_server_that_speaks_first() -> None:
    async def smtp(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 ready\r\n")
        writer.write(b"heard " + await reader.readline())
        writer.close()

    async with Bed((f"{HOST}:25",), servers={25: smtp}) as bed:
        client = await bed.tunnel(port=25)
        assert await client.reader.readline() == b"220 ready\r\n"
        await client.say(b"EHLO x\r\n")
        assert await client.rest() == b"heard EHLO x\r\n"


@looped
async def test_each_side_ends_by_itself() -> None:
    async def last(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"all %d" % len(await reader.read()))
        writer.close()

    async with Bed(servers={443: last}) as bed:
        client = await (await bed.tunnel()).say(b"12345")
        client.writer.write_eof()
        assert await client.rest() == b"all 5"
        client.close()
        await until(lambda: not bed.proxy._visits)


@looped
async def test_a_lost_server_ends_the_tunnel() -> None:
    async def lost(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        at_once = struct.pack("ii", 1, 0)  # a reset, not an end
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
        writer.transport.abort()

    async with Bed(servers={443: lost}) as bed:
        client = await (await bed.tunnel()).say(b"x")
        assert await client.rest() == b""
        client.close()
        await until(lambda: not bed.proxy._visits)


LET_THROUGH = {
    "the host's name": hello(HOST),
    "in upper case": hello(HOST.upper()),
    "no name": hello(None),
    "in records of 5": records(hello(HOST), 5),
    "encrypted, with the host's name outside": extended(b"\xfe\x0d\0\x03abc" + names(HOST)),
    "encrypted, without a name outside": extended(b"\xfe\x0d\0\x03abc"),
    "the host's name twice": extended(names(HOST, HOST)),
}


@pytest.mark.parametrize("said", LET_THROUGH.values(), ids=LET_THROUGH.keys())
@looped
async def test_a_hello_that_is_let_through(said: bytes) -> None:
    async with Bed() as bed:
        client = await (await bed.tunnel()).say(said)
        assert await client.exactly(len(said)) == said
        assert bed.kinds() == []


REFUSED = {
    "another name": (hello("other.unlisted.test"), "mismatch"),
    "a name below": (hello(f"x.{HOST}"), "mismatch"),
    "in records of 3": (records(hello("other.unlisted.test"), 3), "mismatch"),
    "two names, the second another": (extended(names(HOST, "b.test")), "mismatch"),
    "two extensions": (extended(names(HOST) + names("b.test")), "mismatch"),
    "encrypted, another name outside": (extended(b"\xfe\x0d\0\x03abc" + names("b.test")), "mismatch"),
    "no name of a host": (extended(names("a b\0c")), "mismatch"),
    "an empty name": (extended(names("")), "mismatch"),
    "an alert before it": (b"\x15\x03\x01\0\x02\x01\0" + hello("other.unlisted.test"), "malformed"),
    "its end missing": (hello("other.unlisted.test")[:-1], "malformed"),
}


@pytest.mark.parametrize(("said", "kind"), REFUSED.values(), ids=REFUSED.keys())
@looped
async def test_a_hello_of_which_nothing_goes_on(said: bytes, kind: str) -> None:
    async with Bed() as bed:
        client = await (await bed.tunnel()).say(said)
        client.writer.write_eof()
        assert await client.rest() == b""
        assert bed.kinds() == [kind]
        assert bed.dials.dialled == [f"{PUBLIC}:443"]
        await until(lambda: not bed.proxy._visits)
        assert bed.arrived in ([bytearray()], [])


@looped
async def test_segments_do_not_hide_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runners.tier1.tunnel.HEAD", 0.05)
    async with Bed() as bed:
        client, said = await bed.tunnel(), hello("other.unlisted.test")
        for each in (said[:1], said[1:5], said[5:]):
            await client.say(each)
            await asyncio.sleep(0)
        assert await client.rest() == b""
        slow = await (await bed.tunnel()).say(said[:3])
        assert await slow.rest() == b""  # its end does not come
        assert bed.kinds() == ["mismatch", "malformed"]


@looped
async def test_an_address_has_no_name() -> None:
    async with Bed((PUBLIC,)) as bed:
        assert await (await (await bed.tunnel(PUBLIC)).say(hello(HOST))).rest() == b""
        client = await (await bed.tunnel(PUBLIC)).say(hello(None))
        assert await client.exactly(3) == b"\x16\x03\x01"
        assert bed.kinds() == ["mismatch"]


@settings(max_examples=40, deadline=None)
@given(
    st.binary(max_size=80),
    st.integers(0, 240),
    st.binary(max_size=3),
    st.lists(st.integers(1, 300), max_size=4),
)
def test_whatever_comes_first_either_passes_whole_or_not_at_all(
    tail: bytes, where: int, spoilt: bytes, cuts: list[int]
) -> None:
    whole = hello("other.unlisted.test")
    said = whole[:where] + spoilt + whole[where + len(spoilt) :] + tail

    @looped
    async def asked() -> None:
        async with Bed() as bed:
            client, begin = await bed.tunnel(), 0
            for cut in sorted({*cuts, len(said)}):
                await client.say(said[begin:cut])
                begin = cut
            client.writer.write_eof()
            answer = await client.rest()
            assert answer in (b"", said)
            assert b"other.unlisted.test" not in answer or bed.kinds() == []
            assert bool(answer) != bool(bed.kinds())
            assert "broken" not in bed.proxy.journal.text()

    asked()
