"""The DNS server of the little internet: one port of 127.0.0.1, UDP and TCP.

It answers what the row of the moment says and keeps a log of every question. Whoever asks for a name
that the row does not have is told that there is none.

Sources: RFC 1035 4.2, RFC 7766.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time

import dns.exception
import dns.flags
import dns.message
import dns.rdatatype

from matrix.internet.book import Book, Reply, text
from matrix.internet.log import Log, Query

HOST = "127.0.0.1"
PROOF = ".proof.invalid"
"""Names that the harness itself asks for, to see whether the server is there; they are not logged."""

_SMALL = 512  # bytes of a datagram that anybody takes
_PATIENCE = 20.0  # seconds that a TCP connection may be idle


class Names:
    """The server. Raises OSError where the port cannot be had."""

    def __init__(self, log: Log, port: int) -> None:
        """Listen on `port`, on any that is free where it is 0; answer nothing before `start`."""
        self._log, self._book = log, Book({})
        self._lock = threading.Lock()
        self._stream = socket.create_server((HOST, port))
        self.port: int = self._stream.getsockname()[1]
        self._datagram = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._datagram.bind((HOST, self.port))
        except OSError:
            self.close()
            raise

    def start(self) -> None:
        """Answer, in threads that end with the process."""
        for serve in (self._datagrams, self._streams):
            threading.Thread(target=serve, name=f"names-{serve.__name__}", daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        for each in (self._stream, self._datagram):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def tell(self, book: Book) -> None:
        """From now on answer by this book."""
        with self._lock:
            self._book = book

    def _reply(self, wire: bytes) -> tuple[Reply, int]:
        """What goes back, and how many bytes of it a datagram may have."""
        try:
            query = dns.message.from_wire(wire)
            if not query.question:
                return Reply(), _SMALL
        except (dns.exception.DNSException, ValueError, struct.error):
            return Reply(), _SMALL
        name = text(query.question[0].name)
        kind = dns.rdatatype.to_text(query.question[0].rdtype)
        if not name.endswith(PROOF):
            self._log.asked(Query(name=name, kind=kind, at=time.monotonic()))
        with self._lock:
            return self._book.reply(query), max(_SMALL, query.payload)

    def _datagrams(self) -> None:
        while True:
            try:
                wire, peer = self._datagram.recvfrom(65535)
            except OSError:
                return  # closed
            # whatever a row's answer breaks over costs this question alone
            with contextlib.suppress(Exception):
                reply, most = self._reply(wire)
                for message in (*reply.forged, *((reply.true,) if reply.true else ())):
                    self._datagram.sendto(_datagram(message, most), peer)

    def _streams(self) -> None:
        while True:
            try:
                connection, _ = self._stream.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._stream_of, args=(connection,), daemon=True).start()

    def _stream_of(self, connection: socket.socket) -> None:
        """Question after question of one connection. A silent name's is left without an answer."""
        with connection, contextlib.suppress(OSError, EOFError):
            connection.settimeout(_PATIENCE)
            while True:
                (length,) = struct.unpack("!H", _exactly(connection, 2))
                reply, _ = self._reply(_exactly(connection, length))
                if reply.true:
                    connection.sendall(reply.true.to_wire(prepend_length=True))


def _datagram(message: dns.message.Message, most: int) -> bytes:
    """The message in so many bytes; cut, and marked so, where it has more."""
    try:
        return message.to_wire(max_size=most)
    except dns.exception.TooBig:
        cut = dns.message.Message(message.id)
        cut.flags = message.flags | dns.flags.TC
        cut.question = message.question
        return cut.to_wire()


def _exactly(connection: socket.socket, count: int) -> bytes:
    """So many bytes. Raises EOFError where the other side ends before."""
    data = b""
    while len(data) < count:
        if not (more := connection.recv(count - len(data))):
            raise EOFError
        data += more
    return data
