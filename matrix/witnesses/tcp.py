"""A TCP listener outside. Only application bytes count: a connection alone proves nothing.

Redirectors and proxies accept any address, so an accepted connection is no evidence. The kernel
queues connections and bytes, so the listener needs no thread: it is read when somebody looks.
"""

from __future__ import annotations

import socket

from matrix.model import Attempted, Nothing, Seen, Sighting
from matrix.witnesses.contract import Ground, Planted, Unplantable, Watching, fresh_token


class Witness(Watching):
    """Listens on `plant.bind` (default 127.0.0.1) at a free port; sees the canary in what arrives."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.bind = str(ground.case.plant.get("bind", "127.0.0.1"))
        self.listener: socket.socket | None = None
        self.open: list[socket.socket] = []
        self.heard = b""

    def plant(self) -> Planted:
        """Listen; the attack is told port and token, and its row says the address."""
        family = socket.AF_INET6 if ":" in self.bind else socket.AF_INET
        self.listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            self.listener.bind((self.bind, 0))
        except OSError as error:
            raise Unplantable(f"cannot listen on {self.bind}: {error.strerror}") from error
        self.listener.listen(16)
        self.listener.setblocking(False)
        return Planted(told={"port": self.listener.getsockname()[1], "token": self.ground.token})

    def _drain(self) -> None:
        if self.listener is None:
            return
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                break
            connection.setblocking(False)
            self.open.append(connection)
        for connection in self.open:
            try:
                while len(self.heard) < 1 << 20 and (data := connection.recv(4096)):
                    self.heard += data
            except OSError:
                continue

    def look(self, attempted: Attempted | None) -> Sighting:
        """The canary arrived as bytes."""
        del attempted
        self._drain()
        if self.ground.token.encode() in self.heard:
            return Seen(how=f"the listener on {self.bind} received the canary")
        return Nothing()

    def check(self) -> str:
        """Send a token of our own through the same listener."""
        if self.listener is None:
            return "no listener"
        token = fresh_token().encode()
        address = self.listener.getsockname()
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address[0], address[0])  # noqa: S104
        try:
            with socket.create_connection((host, address[1]), timeout=2) as own:
                own.sendall(token)
                own.shutdown(socket.SHUT_WR)
                own.settimeout(0.2)
                self._drain()
        except OSError as error:
            return f"the listener on {self.bind} is gone: {error}"
        self._drain()
        return "" if token in self.heard else f"the listener on {self.bind} did not hear our own token"

    def close(self) -> None:
        """Close everything."""
        for each in [*self.open, *([self.listener] if self.listener else [])]:
            each.close()
