"""Dials the addresses that were judged, by number and never by name, and writes each down before.

Sources: RFC 8305 5 (the next one is tried before the first has given up), connect(2).
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from ipaddress import IPv4Address
from typing import Protocol

from runners.contract import Egress
from runners.tier1.addresses import Address
from runners.tier1.hosts import Literal
from runners.tier1.resolve import Unreached

MOST_TRIED = 8
"""Addresses of one call that are dialled at most."""
HEAD_START = 0.25
"""Seconds that an address has before the next is tried too."""
SECONDS = 10.0
"""For one call, all its addresses together."""


class Dialler(Protocol):
    """Who connects to an address."""

    async def dial(self, address: Address, port: int) -> socket.socket:
        """A connection to exactly that address, not blocking; none is left when cancelled. Raises OSError."""
        ...


class Direct:
    """Dials the address itself."""

    async def dial(self, address: Address, port: int) -> socket.socket:
        """A connection to that address."""
        return await _connected(
            socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6, str(address), port
        )


class Detours:
    """Dials what a table has in the place of the address; what it does not have cannot be reached."""

    def __init__(self, table: Mapping[str, tuple[str, int]]) -> None:
        self._table = table

    async def dial(self, address: Address, port: int) -> socket.socket:
        """A connection to the listener that stands for that address and port."""
        at = self._table.get(endpoint(address, port))
        if at is None:
            raise OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH))
        return await _connected(socket.AF_INET6 if ":" in at[0] else socket.AF_INET, *at)


def dialler(egress: Egress) -> Dialler:
    """The dialler of this network."""
    return Detours(egress.detours) if egress.detours else Direct()


def endpoint(address: Address, port: int) -> str:
    """As the dial log has it: address:port, IPv6 in brackets."""
    return f"{Literal(address)}:{port}"


async def _connected(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        prepare(sock)
        await asyncio.get_running_loop().sock_connect(sock, (address, port))
    except BaseException:
        sock.close()
        raise
    return sock


def prepare(sock: socket.socket) -> None:
    """What holds for both ends of a call: no byte waits for another, and a peer that is gone is noticed."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


async def reach(
    dialler: Dialler, addresses: Sequence[Address], port: int, note: Callable[[str], None]
) -> socket.socket | Unreached:
    """A connection to the first address that takes one.

    `note` is told each in the moment before it is dialled, and may keep it from being so by an OSError.
    """

    async def attempt(address: Address) -> socket.socket:
        note(endpoint(address, port))
        return await dialler.dial(address, port)

    waiting = list(addresses[:MOST_TRIED])
    trying: set[asyncio.Task[socket.socket]] = set()
    try:
        async with asyncio.timeout(SECONDS):
            while waiting or trying:
                if waiting:
                    trying.add(asyncio.create_task(attempt(waiting.pop(0))))
                done, _ = await asyncio.wait(
                    trying, timeout=HEAD_START if waiting else None, return_when=asyncio.FIRST_COMPLETED
                )
                for task in done:
                    trying.discard(task)
                    if not task.exception():
                        return task.result()
    except TimeoutError:
        return Unreached(504, "the server did not answer in time")
    finally:
        for task in trying:
            task.add_done_callback(_close)
            task.cancel()
    return Unreached(502, "the server could not be reached")


def _close(task: asyncio.Task[socket.socket]) -> None:
    """A connection that came too late."""
    if not task.cancelled() and not task.exception():
        task.result().close()
