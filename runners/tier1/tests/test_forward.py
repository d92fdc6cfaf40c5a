"""Plain HTTP: each request judged anew, written anew, answered as it comes."""

from __future__ import annotations

import asyncio

import pytest

from runners.tier1.forward import onward
from runners.tier1.head import Head, read_head
from runners.tier1.tests.bed import GET, HOST, OTHER, PRIVATE, PUBLIC, WIKI, Bed, Handler, looped, until

FORBIDDEN = GET.replace(HOST.encode(), b"other.unlisted.test")


def answering(answer: bytes, seen: list[bytes] | None = None) -> dict[int, Handler]:
    """A server that takes a head and says this."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if seen is not None:
            seen.append(head)
        writer.write(answer)
        await writer.drain()
        writer.close()

    return {80: serve}


def post(body: bytes, *lines: str) -> bytes:
    return "\r\n".join([f"POST http://{HOST}/ HTTP/1.1", f"Host: {HOST}", *lines, "", ""]).encode() + body


@looped
async def test_a_page() -> None:
    async with Bed() as bed:
        client = await (await bed.client()).say(GET)
        head = await client.head()
        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"X-Kept: yes\r\n" in head
        assert b"Proxy-Told" not in head
        assert await client.exactly(7) == b"arrived"
        assert (
            bytes(bed.arrived[0]) == f"GET /x HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode()
        )
        assert bed.dials.dialled == [f"{PUBLIC}:80"]


@looped
async def test_every_request_of_a_connection_is_judged_and_dialled_anew() -> None:
    async with Bed() as bed:
        client = await bed.client()
        for _ in range(2):
            await (await client.say(GET)).head()
            await client.exactly(7)
        bed.names.table[HOST] = (PRIVATE,)
        await client.say(GET)
        assert b" 403 Forbidden: private" in await client.head()
        assert bed.dials.dialled == [f"{PUBLIC}:80"] * 2


@looped
async def test_requests_at_once() -> None:
    async with Bed() as bed:
        said = await bed.ask(GET + GET + FORBIDDEN + GET)
        assert said.count(b"HTTP/1.1 200 ") == 2
        assert said.count(b"HTTP/1.1 403 ") == 1
        assert bed.kinds() == ["unlisted"]
        assert not [each for each in bed.dials.dialled if OTHER in each]


def test_what_was_meant_for_the_proxy_does_not_go_on() -> None:
    raw = (
        f"GET http://{HOST}:8080/x HTTP/1.1\r\nHost: {HOST}:8080\r\nProxy-Authorization: Basic Uzpz\r\n"
        "Accept: */*\r\nConnection: X-Secret, Content-Length, Host\r\nX-Secret: 1\r\nproxy-connection: x\r\n"
        "TE: trailers\r\nUpgrade: h2c\r\nKeep-Alive: 5\r\nContent-Length: 0\r\n\r\n"
    )
    head = read_head(raw.encode())
    assert isinstance(head, Head)
    assert onward(head) == [
        (b"Host", f"{HOST}:8080".encode()),
        (b"Accept", b"*/*"),
        (b"Content-Length", b"0"),
        (b"Connection", b"close"),
    ]


@pytest.mark.parametrize(
    "body",
    [
        post(b"hello", "Content-Length: 5"),
        post(b"2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n", "Transfer-Encoding: chunked"),
    ],
)
@looped
async def test_a_body_is_sent_on_and_nothing_behind_it(body: bytes) -> None:
    async with Bed(servers=None) as bed:
        bed.dials.servers[80] = bed.dials.servers[443]  # a server that only listens and repeats
        client = await (await bed.client()).say(body + FORBIDDEN)
        await client.head()  # an echo is no answer: 502
        await until(lambda: bed.arrived and bed.arrived[0].endswith((b"hello", b"0\r\n\r\n")))
        assert b"unlisted" not in bed.arrived[0]
        assert bed.dials.dialled == [f"{PUBLIC}:80"]


@looped
async def test_a_request_hidden_in_a_body_is_read_by_nobody() -> None:
    async with Bed() as bed:
        said = await bed.ask(post(FORBIDDEN, "Content-Length: 4", "Transfer-Encoding: chunked"))
        assert said.startswith(b"HTTP/1.1 400 ")
        said = await bed.ask(post(b"zz\r\n" + FORBIDDEN, "Transfer-Encoding: chunked"))
        assert b"HTTP/1.1 200" not in said or said.count(b"HTTP/1.1") == 1
        assert not [each for each in bed.dials.dialled if OTHER in each]


@looped
async def test_redirects_are_the_clients_to_follow() -> None:
    answer = b"HTTP/1.1 302 Found\r\nLocation: http://other.unlisted.test/\r\nContent-Length: 0\r\n\r\n"
    async with Bed(servers=answering(answer)) as bed:
        assert b"Location: http://other.unlisted.test/\r\n" in await bed.ask(GET)
        assert bed.names.asked == [HOST]
        assert bed.dials.dialled == [f"{PUBLIC}:80"]


@looped
async def test_an_answer_comes_as_it_is_made() -> None:
    more = asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nfirst")
        await more.wait()
        writer.write(b"second")
        writer.close()

    async with Bed(servers={80: slow}) as bed:
        client = await (await bed.client()).say(GET)
        assert b"Transfer-Encoding: chunked" in await client.head()
        assert await client.reader.readuntil(b"first\r\n") == b"5\r\nfirst\r\n"
        more.set()
        assert await client.reader.readuntil(b"0\r\n\r\n") == b"6\r\nsecond\r\n0\r\n\r\n"


@looped
async def test_100_continue_comes_from_the_server() -> None:
    async def careful(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await reader.readexactly(5)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" + body)
        writer.close()

    async with Bed(servers={80: careful}) as bed:
        client = await (await bed.client()).say(post(b"", "Content-Length: 5", "Expect: 100-continue"))
        assert (await client.head()).startswith(b"HTTP/1.1 100 ")
        await (await client.say(b"hello")).head()
        assert await client.exactly(5) == b"hello"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-x\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\n\r\n",
    ],
)
@looped
async def test_an_answer_that_is_none_is_an_error_and_no_denial(answer: bytes) -> None:
    async with Bed(servers=answering(answer)) as bed:
        assert (await bed.ask(GET)).startswith(b"HTTP/1.1 502 ")
        assert bed.kinds() == []


@looped
async def test_half_an_answer_is_not_made_whole() -> None:
    async with Bed(servers=answering(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")) as bed:
        said = await bed.ask(GET)
        assert said.endswith(b"half")
        assert said.count(b"HTTP/1.1 ") == 1


@looped
async def test_a_web_socket_goes_on_and_h2c_does_not() -> None:
    switch = b"HTTP/1.1 101 Now\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-X: y\r\n\r\nframe"
    asked = GET[:-2] + b"Connection: Upgrade\r\nUpgrade: %s\r\nSec-WebSocket-Key: k\r\n\r\n"
    seen: list[bytes] = []
    async with Bed(servers=answering(switch, seen)) as bed:
        client = await (await bed.client()).say(asked % b"websocket")
        assert b"Sec-X: y\r\n" in await client.head()
        assert await client.rest() == b"frame"
        assert b"Connection: Upgrade\r\nUpgrade: websocket\r\n" in seen[0]
        assert (await bed.ask(asked % b"h2c")).startswith(b"HTTP/1.1 502 ")  # a switch that was not asked for
        assert b"h2c" not in seen[1]
        assert b"pgrade" not in seen[1]


@looped
async def test_a_web_socket_carries_bytes_both_ways() -> None:
    async def socket(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
        writer.write(b"heard " + await reader.readexactly(5))
        writer.close()

    async with Bed(servers={80: socket}) as bed:
        client = await bed.client()
        await client.say(GET[:-2] + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\nhel")
        await client.head()
        assert await (await client.say(b"lo")).rest() == b"heard hello"


@looped
async def test_a_private_host_needs_the_tenants_list() -> None:
    get = GET.replace(HOST.encode(), WIKI.encode())
    async with Bed((WIKI,)) as bed:
        assert b"403 Forbidden: private" in await bed.ask(get)
        assert bed.dials.dialled == []
    async with Bed((WIKI,), (WIKI,)) as bed:
        assert b"200 OK" in await bed.ask(get)
        assert bed.dials.dialled == [f"{PRIVATE}:80"]
