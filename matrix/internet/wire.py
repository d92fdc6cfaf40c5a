"""Bytes to and from one client, in the clear or inside TLS; whatever comes in is noted as it comes.

Source: RFC 8446 5.1 (the first byte of a TLS connection says so).
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")

_CHUNK = 64 * 1024
_HANDSHAKE = b"\x16"


class Wire(Protocol):
    """What a conversation needs. Raises OSError (ssl.SSLError is one) when the other side breaks off."""

    def receive(self) -> bytes:
        """What came next; empty when nothing will come any more."""
        ...

    def send(self, data: bytes) -> None:
        """Send all of it."""
        ...


def opened(
    connection: socket.socket, context: Callable[[], ssl.SSLContext], note: Callable[[bytes], None]
) -> Wire:
    """The wire of a fresh connection: TLS, shaken hands already, where the client begins with that."""
    if connection.recv(1, socket.MSG_PEEK) != _HANDSHAKE:
        return _Clear(connection, note)
    return _Secure(connection, context(), note)


class _Clear:
    def __init__(self, connection: socket.socket, note: Callable[[bytes], None]) -> None:
        self._connection, self._note = connection, note

    def receive(self) -> bytes:
        data = self._connection.recv(_CHUNK)
        self._note(data)
        return data

    def send(self, data: bytes) -> None:
        self._connection.sendall(data)


class _Secure:
    """TLS over memory, so that the bytes of the client's hello can be noted, whatever comes of it."""

    def __init__(
        self, connection: socket.socket, context: ssl.SSLContext, note: Callable[[bytes], None]
    ) -> None:
        self._connection, self._note = connection, note
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._until_done(self._tls.do_handshake, note)

    def receive(self) -> bytes:
        try:
            data = self._until_done(lambda: self._tls.read(_CHUNK), _nobody)
        except ssl.SSLZeroReturnError:
            return b""
        self._note(data)
        return data

    def send(self, data: bytes) -> None:
        self._tls.write(data)
        self._flush()

    def _until_done(self, act: Callable[[], T], note: Callable[[bytes], None]) -> T:
        """The result of a step of TLS, fed with what it asks for."""
        while True:
            try:
                return act()
            except ssl.SSLWantReadError:
                self._flush()
                data = self._connection.recv(_CHUNK)
                note(data)
                self._incoming.write(data) if data else self._incoming.write_eof()
            finally:
                self._flush()

    def _flush(self) -> None:
        if data := self._outgoing.read():
            self._connection.sendall(data)


def _nobody(_: bytes) -> None:
    """Encrypted bytes are nothing to note."""
