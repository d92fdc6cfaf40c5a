"""A socket of the host whose name or address nobody is told: only a listing of sockets shows it."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path

from matrix.evidence import Acted, Attempted, Nothing, Seen, Sighting
from matrix.witnesses.contract import Ground, Planted, Unplantable, Watching


class Witness(Watching):
    """Sees the socket's name in what the attack returns.

    `plant.table` is unix, for an abstract socket named by the canary, or tcp, for a listener at an
    address of 127.0.0.0/8 and a port that together are 38 random bits and more.
    """

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.table = str(ground.case.plant["table"])
        self.listener: socket.socket | None = None
        self.name = ""
        self.seen = False

    def plant(self) -> Planted:
        """Listen, and tell nobody."""
        unix = self.table == "unix"
        self.listener = socket.socket(socket.AF_UNIX if unix else socket.AF_INET, socket.SOCK_STREAM)
        try:
            if unix:
                self.name = self.ground.token
                self.listener.bind("\0" + self.name)
            else:
                address = ".".join(["127", *(str(1 + byte % 254) for byte in secrets.token_bytes(3))])
                self.listener.bind((address, 0))
                self.name = f"{address}:{self.listener.getsockname()[1]}"
        except OSError as error:
            raise Unplantable(f"cannot hold a socket to be listed: {error.strerror}") from error
        self.listener.listen(1)
        return Planted()

    def look(self, attempted: Attempted | None) -> Sighting:
        """The name was returned."""
        if attempted is not None and isinstance(attempted.said, Acted):
            self.seen |= self.name in attempted.said.trace.split()
        return Seen(how=f"the host's socket {self.name} is listed inside") if self.seen else Nothing()

    def check(self) -> str:
        """The kernel lists it to us."""
        if self.listener is None:
            return "no socket"
        shown = Path(f"/proc/self/net/{self.table}").read_text(encoding="utf-8", errors="replace")
        return "" if self._written() in shown else f"the kernel does not list our own socket {self.name}"

    def _written(self) -> str:
        """The name as /proc/net writes it."""
        if self.table == "unix":
            return f"@{self.name}"
        address, port = self.name.split(":")
        return f"{socket.inet_aton(address)[::-1].hex().upper()}:{int(port):04X}"

    def close(self) -> None:
        """Close it."""
        if self.listener is not None:
            self.listener.close()
