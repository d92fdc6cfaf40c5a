"""Nobody who sends or reads without end is the only one to be served."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from runners.contract import Egress
from runners.tier1 import turns
from runners.tier1.serving import Serving
from runners.tier1.tests.bed import GET, HOST, PUBLIC, looped

Act = Callable[[socket.socket], Awaitable[object]]


async def others_ran(act: Act) -> bool:
    """Whether anybody else had a turn while the act was done on a socket that is ready."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        theirs.sendall(b"ready")
        ran: list[bool] = []
        asyncio.get_running_loop().call_soon(ran.append, True)
        await act(ours)
        return bool(ran)


@looped
async def test_others_have_a_turn_although_the_socket_is_ready() -> None:
    assert await others_ran(lambda sock: turns.receive(sock, 1))
    assert await others_ran(lambda sock: turns.send(sock, b"x"))


@looped
async def test_by_asyncio_alone_they_have_none() -> None:
    """The double."""
    loop = asyncio.get_running_loop()
    assert not await others_ran(lambda sock: loop.sock_recv(sock, 1))
    assert not await others_ran(lambda sock: loop.sock_sendall(sock, b"x"))


@looped
async def test_who_is_stopped_during_the_others_turn_has_sent() -> None:
    """Else an answer could count as begun of which the client has nothing."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        theirs.setblocking(False)
        task = asyncio.create_task(turns.send(ours, b"said"))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()
        assert theirs.recv(4) == b"said"


def endless(sock: socket.socket, data: bytes) -> None:
    with suppress(OSError), sock:
        while True:
            sock.sendall(data)


def drained(sock: socket.socket) -> None:
    with suppress(OSError):
        while sock.recv(1 << 20):
            pass


@pytest.mark.parametrize("of", ["the server", "a refused client"])
def test_what_has_no_end_holds_up_no_change(of: str) -> None:
    """A server that speaks without end, or a client that is refused and goes on: the operator is answered."""

    def serve() -> None:
        with suppress(OSError):
            sock, _ = server.accept()
            threads[1] = threading.Thread(target=endless, args=(sock, b"HTTP/1.1 103 On\r\n\r\n" * 50_000))
            threads[1].start()

    server, listener = socket.create_server(("127.0.0.1", 0)), socket.create_server(("127.0.0.1", 0))
    at, threads = listener.getsockname(), [threading.Thread(target=serve)] * 3
    egress = Egress(manifest=(PUBLIC,), detours={f"{PUBLIC}:80": server.getsockname()})
    running = Serving.start(egress, listener)
    with server, socket.create_connection(at) as client:
        threads[0].start()
        if of == "the server":
            client.sendall(GET.replace(HOST.encode(), PUBLIC.encode()))
            assert client.recv(16).startswith(b"HTTP/1.1 103")
            threads[2] = threading.Thread(target=drained, args=(client,))
        else:
            client.sendall(GET)
            threads[2] = threading.Thread(target=endless, args=(client, bytes(1 << 20)))
        threads[2].start()
        assert running.change(Egress()) == ()  # which waits for ten seconds, not longer
        running.close()
        server.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()
