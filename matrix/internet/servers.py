"""The servers: TCP listeners that know which address was dialled, and answer there.

In a world one socket for all addresses listens on each port, so that nothing that is dialled is missed;
where a row wants an address refused, each other address has a socket of its own on the row's ports.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address

from matrix.internet.addresses import arrives
from matrix.internet.certificates import Certificates
from matrix.internet.log import Connection, Log
from matrix.internet.speech import Page, converse
from matrix.internet.wire import opened

_AT_ONCE = 400  # connections that are answered; more are noted and let go
_PATIENCE = 30.0  # seconds that a connection may be idle
_IPV6_FREEBIND = 78  # linux/in6.h: an address that is only routed here may be bound


@dataclass(frozen=True)
class Place:
    """An address and a port that are listened at; an empty address stands for all of one family."""

    address: str
    port: int
    version: int = 4


class Servers:
    """All listeners of one stage."""

    def __init__(self, log: Log, page: Callable[[str, int], Page]) -> None:
        """`page` says what is answered at an address and port at the moment."""
        self._log, self._page = log, page
        self.certificates = Certificates()
        self._selector = selectors.DefaultSelector()
        self._open: dict[Place, socket.socket] = {}
        self._free = threading.BoundedSemaphore(_AT_ONCE)
        self._wake, self._woken = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ, None)
        self._thread = threading.Thread(target=self._accept, name="servers", daemon=True)
        self._ended = False

    def start(self) -> None:
        """Accept, in a thread that ends with the process."""
        self._thread.start()

    def close(self) -> None:
        """Stop listening; connections that were made go on."""
        if self._ended:
            return
        self._ended = True
        self._wake.send(b".")
        if self._thread.ident:
            self._thread.join()
        for place in tuple(self._open):
            self.shut(place)
        for each in (self._wake, self._woken, self._selector):
            each.close()

    def listen(self, place: Place, stands_for: Place | None = None) -> int:
        """Listen there; gives the port. With `stands_for` connections count as made to that place.

        Raises OSError where that cannot be.
        """
        key = stands_for or place
        if key in self._open:
            return self.port(key)
        server = _listener(place)
        self._open[key] = server
        self._selector.register(server, selectors.EVENT_READ, key)
        return server.getsockname()[1]

    def port(self, place: Place) -> int:
        """The port by which a place is listened for; 0 when it is not."""
        return self._open[place].getsockname()[1] if place in self._open else 0

    def hears(self, address: str, port: int) -> bool:
        """Whether a dial to that address and port comes to a listener of ours."""
        everywhere = Place("", port, ip_address(address).version)
        return everywhere in self._open or Place(address, port) in self._open

    def shut(self, place: Place) -> None:
        """Listen there no more; connections that were made go on."""
        if server := self._open.pop(place, None):
            self._selector.unregister(server)
            server.close()

    def _accept(self) -> None:
        while not self._ended:
            for key, _ in self._selector.select():
                if key.data is None:
                    continue
                place: Place = key.data
                if server := self._open.get(place):
                    with contextlib.suppress(OSError):  # gone again, or shut in this moment
                        connection, peer = server.accept()
                        self._welcome(connection, place, peer[1])

    def _welcome(self, connection: socket.socket, place: Place, port: int) -> None:
        """Note the connection at once, then let a thread answer it."""
        address = arrives(place.address or connection.getsockname()[0])
        noted = Connection(address, place.port)
        self._log.connected(noted, port)
        if not self._free.acquire(blocking=False):
            connection.close()
            return
        threading.Thread(target=self._serve, args=(connection, noted), daemon=True).start()

    def _serve(self, connection: socket.socket, noted: Connection) -> None:
        def heard(name: str) -> None:
            noted.sni = name

        try:
            with connection, contextlib.suppress(OSError):
                connection.settimeout(_PATIENCE)
                page = self._page(noted.address, noted.port)
                context = self.certificates.context
                converse(opened(connection, lambda: context(noted.address, heard), noted.add), page)
        finally:
            self._free.release()


def _listener(place: Place) -> socket.socket:
    """A listening socket. Raises OSError."""
    version = ip_address(place.address).version if place.address else place.version
    family, all_of_them = (socket.AF_INET, "0.0.0.0") if version == 4 else (socket.AF_INET6, "::")  # noqa: PLR2004, S104 - in a world of our own
    server = socket.socket(family, socket.SOCK_STREAM)
    try:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            if place.address:
                server.setsockopt(socket.IPPROTO_IPV6, _IPV6_FREEBIND, 1)
        server.bind((place.address or all_of_them, place.port))
        server.listen(128)
        server.setblocking(False)
    except OSError:
        server.close()
        raise
    return server
