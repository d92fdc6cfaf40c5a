"""What is received and sent, in turns: between two calls everybody else of the loop has one.

asyncio's own calls come back at once while the socket is ready. A loop around them that a fast peer keeps
going would be the only one to run: no other client, no time limit, no change of the lists.
Source: sock_recv and sock_sendall in asyncio's selector_events.py.
"""

from __future__ import annotations

import asyncio
import socket


async def receive(sock: socket.socket, size: int) -> bytes:
    """What comes next, empty at the end. Raises OSError."""
    await asyncio.sleep(0)
    return await asyncio.get_running_loop().sock_recv(sock, size)


async def send(sock: socket.socket, data: bytes) -> None:
    """Send all. Raises OSError. Who is stopped before others had their turn has sent it nevertheless."""
    await asyncio.get_running_loop().sock_sendall(sock, data)
    await asyncio.sleep(0)
