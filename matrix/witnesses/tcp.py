"""A TCP listener outside. Only application bytes count: a connection alone proves nothing.

Redirectors and proxies accept any address, so an accepted connection is no evidence. The kernel
queues connections and bytes, so the listener needs no thread: it is read when somebody looks.
"""

from __future__ import annotations

import socket

from matrix.evidence import Attempted, Nothing, Seen, Sighting
from matrix.witnesses import routed
from matrix.witnesses.contract import Ground, Planted, Unplantable, Watching, fresh_token

EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - where we reach ourselves
LIMIT = 1 << 20  # bytes kept, in which the canary is looked for


class Witness(Watching):
    """Listens on `plant.bind` (default 127.0.0.1) at a free port; sees the canary in what arrives.

    `plant.protocol` is for streams that are not plain TCP, by number. `plant.route` says that the
    address is nobody's here: in the network world it is routed to us.
    """

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.bind = str(ground.case.plant.get("bind", "127.0.0.1"))
        self.protocol = int(ground.case.plant.get("protocol", 0))
        self.family = socket.AF_INET6 if ":" in self.bind else socket.AF_INET
        self.listener: socket.socket | None = None
        self.open: list[socket.socket] = []
        self.heard = b""

    def plant(self) -> Planted:
        """Listen; the attack is told port and token, and its row says the address."""
        if self.ground.case.plant.get("route"):
            routed.here(self.bind)
        try:
            self.listener = socket.socket(self.family, socket.SOCK_STREAM, self.protocol)
            self.listener.bind((self.bind, 0))
        except OSError as error:
            kind = f" by protocol {self.protocol}" if self.protocol else ""
            raise Unplantable(f"cannot listen on {self.bind}{kind}: {error.strerror}") from error
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
                while len(self.heard) < LIMIT and (data := connection.recv(4096)):
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
        try:
            host, port, *rest = self.listener.getsockname()
            with socket.socket(self.family, socket.SOCK_STREAM, self.protocol) as own:
                own.settimeout(2)
                own.connect((EVERYWHERE.get(host, host), port, *rest))
                own.sendall(token)
        except OSError as error:
            return f"the listener on {self.bind} is gone: {error}"
        self._drain()
        return "" if token in self.heard else f"the listener on {self.bind} did not hear our own token"

    def close(self) -> None:
        """Close everything."""
        for each in [*self.open, *([self.listener] if self.listener else [])]:
            each.close()
