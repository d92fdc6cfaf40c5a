"""The proxy itself: one port of 127.0.0.1, a thread for each connection, all of them bounded."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterable

from runners.allow_all.dialling import Dialler, Reached, Unreached
from runners.allow_all.greetings import PREFACE, SETTINGS, http2, socks4, socks5
from runners.allow_all.heads import MOST, Request, read, redirected
from runners.allow_all.relay import carry, encrypt, response

HOST = "127.0.0.1"

_AT_ONCE = 300  # connections
_IDLE = 20.0  # seconds that a client may say nothing
_HOPS = 3  # redirects that are followed for a client that did not ask for it


class Proxy:
    """Listens from the start. Raises OSError where it cannot."""

    def __init__(self, dialler: Dialler, note: Callable[[str], None]) -> None:
        """`note` is told a line about every call."""
        self._dialler, self._note = dialler, note
        self._server = socket.create_server((HOST, 0), backlog=256)
        self.url = f"http://{HOST}:{self._server.getsockname()[1]}"
        """Where it is, as a client is told."""
        self._free = threading.BoundedSemaphore(_AT_ONCE)
        threading.Thread(target=self._accept, name="allow-all", daemon=True).start()

    def close(self) -> None:
        """Take no more connections; those that are open end by themselves."""
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return  # closed
            if not self._free.acquire(timeout=_IDLE):
                client.close()
                continue
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            with client, contextlib.suppress(OSError, EOFError, ValueError):
                client.settimeout(_IDLE)
                _Visit(client, self._dialler, self._note).run()
        finally:
            self._free.release()


class _Visit:
    """One client's connection."""

    def __init__(self, client: socket.socket, dialler: Dialler, note: Callable[[str], None]) -> None:
        self._client, self._dialler, self._note = client, dialler, note
        self._rest = b""

    def run(self) -> None:
        """Call after call. Raises OSError or EOFError when the client is gone."""
        first = self._take(1)
        if first in {b"\x04", b"\x05"}:
            speak = socks4 if first == b"\x04" else socks5
            host, port = speak(self._take, self._client.sendall)
            self._tunnel([(host, (port,))], b"")
            return
        self._rest = first + self._rest
        while request := self._next():
            if request.tunnel:
                self._tunnel(request.calls(), b"HTTP/1.1 200 Connection established\r\n")
                return
            self._forward(request)

    def _next(self) -> Request | None:
        """The next request, None when no other will come."""
        while True:
            if self._rest.startswith(PREFACE):
                self._rest = self._rest.removeprefix(PREFACE)
                self._client.sendall(SETTINGS)
                return http2(self._take)
            request, self._rest = read(self._rest)
            if request or len(self._rest) > MOST or not self._more():
                return request

    def _tunnel(self, calls: Iterable[tuple[str, tuple[int, ...]]], agreed: bytes) -> None:
        """Carry bytes both ways until either side ends."""
        if reached := self._reach(calls):
            with contextlib.closing(reached):
                if agreed:
                    self._client.sendall(agreed + _told(reached) + b"\r\n")
                if self._rest:
                    reached.send(self._rest)
                carry(self._client, reached)

    def _forward(self, request: Request) -> None:
        """Ask for the client, follow where it is sent, and bring it the last answer."""
        for hops in range(1 + _HOPS):
            reached = self._reach(request.calls())
            if not reached:
                return
            with contextlib.closing(encrypt(reached) if request.secure else reached) as reached:
                reached.send(request.wire() + (self._rest if request.unclear else b""))
                answer = response(reached.upstream, request.method, _told(reached))
                if answer.location and hops < _HOPS:
                    request = redirected(request, answer.location)
                    continue
                self._client.sendall(answer.data)
                if answer.switched:
                    reached.send(self._rest)
                    carry(self._client, reached)
                return

    def _reach(self, calls: Iterable[tuple[str, tuple[int, ...]]]) -> Reached | None:
        """Dial; None where nobody was reached, which the client is told."""
        try:
            reached = self._dialler.reach(calls)
        except Unreached as why:
            self._note(f"502 {why}")
            self._client.sendall(
                f"HTTP/1.1 502 Bad Gateway\r\nContent-Length: {len(str(why))}\r\n\r\n{why}".encode()
            )
            return None
        self._note(f"allowed {' '.join(reached.dialled)}")
        return reached

    def _more(self) -> bool:
        """Take in what comes next."""
        data = self._client.recv(1 << 16)
        self._rest += data
        return bool(data)

    def _take(self, count: int) -> bytes:
        """So many bytes. Raises EOFError."""
        while len(self._rest) < count:
            if not self._more():
                raise EOFError
        taken, self._rest = self._rest[:count], self._rest[count:]
        return taken


def _told(reached: Reached) -> bytes:
    """Headers that tell the client what it must never be told."""
    text = f"X-Dialled: {' '.join(reached.dialled)}\r\nX-Resolved: {' '.join(reached.resolved)}\r\n"
    return text.encode("utf-8", "replace")
