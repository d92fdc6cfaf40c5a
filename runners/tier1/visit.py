"""One client of the proxy: its connection, what has been read of it ahead, and where it has been let to."""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass

from runners.tier1.addresses import Address
from runners.tier1.dial import prepare
from runners.tier1.head import MOST_BYTES, Head, measure
from runners.tier1.hosts import Malformed
from runners.tier1.turns import receive, send

IDLE = 60.0
"""Seconds that a connection may be silent before and between its requests."""
HEAD = 10.0
"""Seconds from the first byte of a request's head to its last."""
_CHUNK = 1 << 16
_DROPPING = struct.pack("ii", 1, 0)  # what the kernel holds for the other end goes with the connection
_FAREWELL = 2.0  # seconds for the client to read what it is told before the connection goes


@dataclass(frozen=True)
class Call:
    """What was let through, as it was judged: with other lists it is judged again."""

    head: Head
    addresses: tuple[Address, ...]


class Visit:
    """A client's connection."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        prepare(sock)
        self.sock = sock
        self.call: Call | None = None  # the last one that was let through, until the next is asked
        self.upstream: socket.socket | None = None  # where it goes
        self.task: asyncio.Task[None] | None = None  # who serves it
        self._loop = asyncio.get_running_loop()
        self._unread = b""

    async def head(self) -> bytes:
        """The next request's head, or so much of it as shows that it is none; empty when the client is gone.

        Raises TimeoutError when it takes too long.
        """
        data, seen = bytearray(), 0
        async with asyncio.timeout(IDLE) as limit:
            while True:
                more = await self.receive()
                if not more:
                    return b""
                if not seen:
                    limit.reschedule(self._loop.time() + HEAD)
                data += more
                size = measure(data, seen)
                if isinstance(size, Malformed):
                    return bytes(data[: MOST_BYTES + 1])
                if size:
                    self.unread(bytes(data[size:]))
                    return bytes(data[:size])
                seen = len(data)

    async def receive(self) -> bytes:
        """What comes next, empty at the end. Raises OSError."""
        return self.ahead() or await receive(self.sock, _CHUNK)

    def unread(self, data: bytes) -> None:
        """These bytes come next."""
        self._unread = data + self._unread

    def ahead(self) -> bytes:
        """What has been read already and comes next."""
        data, self._unread = self._unread, b""
        return data

    async def send(self, data: bytes) -> None:
        """Send all. Raises OSError."""
        await send(self.sock, data)

    async def farewell(self, data: bytes) -> None:
        """The last words: a client that is still sending reads them too before the connection goes."""
        await self.send(data)
        self.sock.shutdown(socket.SHUT_WR)
        with suppress(TimeoutError):
            async with asyncio.timeout(_FAREWELL):
                while await receive(self.sock, _CHUNK):
                    pass

    def leave(self) -> None:
        """Give up the way to the server, if there is one."""
        self.call = None
        if self.upstream:
            self.upstream.close()
            self.upstream = None

    def cut(self) -> None:
        """End it now: no byte passes any more, one on its way is dropped, and nothing let through counts."""
        self.call = None
        if self.upstream:
            with suppress(OSError):
                self.upstream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _DROPPING)
        self.shut()
        if self.task:
            self.task.cancel()

    def shut(self) -> None:
        """Let no more bytes pass, in both directions."""
        for sock in (self.upstream, self.sock):
            if sock:
                with suppress(OSError):  # not connected any more
                    sock.shutdown(socket.SHUT_RDWR)
