"""The tunnel that CONNECT asks for: bytes pass as they are, once the first of them are known to be right.

A TLS client hello is read to its end before any of it goes on. Whatever else the client says first goes
on at once, and what the server says, at any time: protocols in which it speaks first work.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Coroutine

from runners.contract import Denial
from runners.tier1.hello import Hello, Opening, Other, Partial, Unreadable
from runners.tier1.hosts import Host, read_host
from runners.tier1.judge import malformed, mismatch
from runners.tier1.turns import receive, send
from runners.tier1.visit import HEAD, Visit

CHUNK = 1 << 18
"""Bytes that are passed on at once."""


class _RefusedError(Exception):
    """The client's first bytes may not go on."""

    def __init__(self, denial: Denial) -> None:
        super().__init__(denial.kind)
        self.denial = denial


async def tunnel(visit: Visit, upstream: socket.socket, host: Host, port: int) -> Denial | None:
    """Pass bytes until both ends have finished or one is lost; a denial when the hello names another host."""
    try:
        await both(_there(visit, upstream, host, port), pour(upstream, visit.sock))
    except _RefusedError as refused:
        return refused.denial
    except OSError:  # a connection that is lost ends a tunnel as well as one that is finished
        return None
    return None


async def both(there: Coroutine[None, None, None], back: Coroutine[None, None, None]) -> None:
    """Go both ways until both have finished, or one has failed: then it raises what that one raised."""
    ways = (asyncio.create_task(there), asyncio.create_task(back))
    try:
        done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
    for way in done:
        way.result()


async def opening(visit: Visit, host: Host, port: int) -> bytes | Denial:
    """What the client says first, when it may go on. One that waits for the server may wait for ever."""
    said, hello = await visit.receive(), Opening()
    data = bytearray(said)
    found = hello.feed(said) if said else Other()
    try:
        async with asyncio.timeout(HEAD):
            while isinstance(found, Partial):
                said = await visit.receive()
                data += said
                found = hello.feed(said) if said else Unreadable("it has no end")
    except TimeoutError:
        found = Unreadable("its end does not come")
    match found:
        case Hello(names) if any(read_host(name) != host for name in names):
            return mismatch(host, port)
        case Unreadable(why):
            return malformed(str(host), f"a TLS client hello that cannot be read ({why})", port)
        case _:
            return bytes(data)


async def pour(source: socket.socket, sink: socket.socket, first: bytes = b"") -> None:
    """Pass on `first`, and what comes from one socket to the other, to its end. Raises OSError."""
    await send(sink, first)
    while data := await receive(source, CHUNK):
        await send(sink, data)
    sink.shutdown(socket.SHUT_WR)


async def _there(visit: Visit, upstream: socket.socket, host: Host, port: int) -> None:
    first = await opening(visit, host, port)
    if isinstance(first, Denial):
        raise _RefusedError(first)
    await pour(visit.sock, upstream, first)
