"""A proxy in this very loop: its resolver is a table, its dialler writes down and stays on loopback."""

from __future__ import annotations

import asyncio
import errno
import functools
import os
import socket
import ssl
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from ipaddress import ip_address
from typing import Any, Self

from runners.contract import Egress
from runners.tier1 import dial
from runners.tier1.addresses import Address
from runners.tier1.dial import endpoint
from runners.tier1.proxy import Proxy
from runners.tier1.resolve import Unreached

PUBLIC, OTHER, PRIVATE, SIX = "11.22.33.44", "11.22.33.55", "10.11.12.13", "2600:ffff::44"
HOST, WIKI = "api.allowed.test", "wiki.corp.test"
NAMES: Mapping[str, Sequence[str]] = {HOST: (PUBLIC,), WIKI: (PRIVATE,), "other.unlisted.test": (OTHER,)}
GOOD = f"CONNECT {HOST}:443 HTTP/1.1\r\nHost: {HOST}:443\r\n\r\n".encode()
GET = f"GET http://{HOST}/x HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def looped(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test's coroutine in a loop of its own, ten seconds at most."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(10):
                await test(*args, **kwargs)

        asyncio.run(bounded())

    return run


class Names:
    """A resolver that is a table and keeps what it was asked; its gate, when closed, holds the answers."""

    def __init__(self, table: Mapping[str, Sequence[str]]) -> None:
        self.table = dict(table)
        self.asked: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def resolve(self, name: str) -> tuple[Address, ...] | Unreached:
        self.asked.append(name)
        await self.gate.wait()
        found = tuple(ip_address(each) for each in self.table.get(name, ()))
        return found or Unreached(502, "the name could not be resolved")


class Dials:
    """A dialler that keeps each address, and connects to the one server that stands for all that answer."""

    def __init__(self) -> None:
        self.dialled: list[str] = []
        self.dead: set[str] = set()  # addresses that refuse
        self.silent: set[str] = set()  # addresses that never answer
        self.servers: dict[int, tuple[str, int]] = {}  # by the port that was dialled

    async def dial(self, address: Address, port: int) -> socket.socket:
        self.dialled.append(endpoint(address, port))
        if str(address) in self.silent:
            await asyncio.Event().wait()
        if str(address) in self.dead or port not in self.servers:
            raise OSError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        return await dial._connected(socket.AF_INET, *self.servers[port])


class Client:
    """A client of the proxy."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def say(self, data: bytes) -> Self:
        self.writer.write(data)
        await self.writer.drain()
        return self

    async def head(self) -> bytes:
        """An answer's status line and headers."""
        return await self.reader.readuntil(b"\r\n\r\n")

    async def rest(self) -> bytes:
        """All that comes until the connection ends, however it ends."""
        data = b""
        try:
            while more := await self.reader.read(1 << 16):
                data += more
        except ConnectionError:
            pass
        return data

    async def exactly(self, size: int) -> bytes:
        return await self.reader.readexactly(size)

    def close(self) -> None:
        self.writer.close()


class Bed:
    """The proxy with its surroundings; `async with` serves."""

    def __init__(
        self,
        manifest: Sequence[str] = (HOST,),
        tenant: Sequence[str] = (),
        *,
        make: type[Proxy] = Proxy,
        own: Sequence[str] = (),
        servers: Mapping[int, Handler] | None = None,
    ) -> None:
        self.egress = Egress(manifest=tuple(manifest), tenant=tuple(tenant))
        self.names, self.dials = Names(NAMES), Dials()
        self.arrived: list[bytearray] = []  # what reached the servers, by connection
        self._servers = {80: self.http, 443: self.echo} if servers is None else servers
        self._stack = AsyncExitStack()
        self.proxy = make(
            self.egress,
            frozenset(ip_address(each) for each in own),
            resolver=lambda _: self.names,
            dialler=lambda _: self.dials,
        )

    async def __aenter__(self) -> Self:
        listener = socket.create_server(("127.0.0.1", 0))
        self._stack.callback(listener.close)
        self.at = listener.getsockname()
        for port, handler in self._servers.items():
            server = await asyncio.start_server(handler, "127.0.0.1", 0)
            self._stack.callback(server.close)
            self.dials.servers[port] = server.sockets[0].getsockname()
        task = asyncio.create_task(self.proxy.serve(listener))
        self._stack.push_async_callback(asyncio.wait, {task})
        self._stack.callback(task.cancel)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def client(self) -> Client:
        made = Client(*await asyncio.open_connection(*self.at))
        self._stack.callback(made.close)
        return made

    async def ask(self, data: bytes) -> bytes:
        """All that the proxy answers to these bytes; the client ends when it has said them."""
        client = await self.client()
        await client.say(data)
        client.writer.write_eof()
        return await client.rest()

    async def tunnel(self, host: str = HOST, port: int = 443) -> Client:
        client = await (await self.client()).say(
            f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()
        )
        assert (await client.head()).startswith(b"HTTP/1.1 200 ")
        return client

    def kinds(self) -> list[str]:
        return [denial.kind for denial in self.proxy.journal.denials]

    async def echo(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A server that says what it is said, and ends when the client does."""
        arrived = self._arrival()
        try:
            while data := await reader.read(1 << 16):
                arrived += data
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        writer.close()

    async def http(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A server that answers one request, whose body has a length or none, with a short page."""
        arrived = self._arrival()
        try:
            arrived += await reader.readuntil(b"\r\n\r\n")
        except (ConnectionError, asyncio.IncompleteReadError):
            writer.close()
            return
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nX-Kept: yes\r\nProxy-Told: no\r\n\r\narrived")
        await writer.drain()
        writer.close()

    def _arrival(self) -> bytearray:
        self.arrived.append(bytearray())
        return self.arrived[-1]


@functools.cache
def hello(name: str | None) -> bytes:
    """A client hello as OpenSSL writes it."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    return outgoing.read()


def records(hello: bytes, size: int) -> bytes:
    """The same hello in TLS records of `size` bytes."""
    body = hello[5:]
    parts = [body[each : each + size] for each in range(0, len(body), size)]
    return b"".join(hello[:3] + len(part).to_bytes(2) + part for part in parts)


async def until(true: Callable[[], object]) -> None:
    """Let the loop run until this holds."""
    while not true():  # noqa: ASYNC110 - what is waited for tells nobody
        await asyncio.sleep(0.001)
