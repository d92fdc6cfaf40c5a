"""A UDP socket outside. The kernel queues datagrams, so it needs no thread."""

from __future__ import annotations

import ipaddress
import socket
import struct

from matrix.evidence import Attempted, Nothing, Seen, Sighting
from matrix.witnesses import routed
from matrix.witnesses.contract import Ground, Planted, Unplantable, Watching, fresh_token
from matrix.witnesses.tcp import EVERYWHERE

BROADCAST = "255.255.255.255"
_SO_BINDTODEVICE = 25  # asm-generic/socket.h


class Witness(Watching):
    """Waits on `plant.bind` (default 127.0.0.1) at `plant.port` (default a free one); sees the canary come.

    `plant.route` says that the address is nobody's here: in the network world it is routed to us. A
    group and the broadcast address are waited at on the loopback. The port is taken without
    SO_REUSEADDR, so that an attack that can have it too is elsewhere.
    """

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.bind = str(ground.case.plant.get("bind", "127.0.0.1"))
        self.port = int(ground.case.plant.get("port", 0))
        self.family = socket.AF_INET6 if ":" in self.bind else socket.AF_INET
        self.group = ipaddress.ip_address(self.bind).is_multicast
        self.socket: socket.socket | None = None
        self.seen = False

    def plant(self) -> Planted:
        """Bind; the attack is told port and token, and its row says the address."""
        if self.ground.case.plant.get("route"):
            routed.here(self.bind)
        try:
            self.socket = socket.socket(self.family, socket.SOCK_DGRAM)
            self.socket.bind((self.bind, self.port))
            if self.group:
                joined = struct.pack(
                    "=4s4si", socket.inet_aton(self.bind), bytes(4), socket.if_nametoindex("lo")
                )
                self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, joined)
        except OSError as error:
            raise Unplantable(f"cannot wait for datagrams on {self.bind}: {error.strerror}") from error
        self.socket.setblocking(False)
        return Planted(told={"port": self.socket.getsockname()[1], "token": self.ground.token})

    def _drain(self, token: str) -> bool:
        """Read the queue; whether that token was in it. The canary is noticed on the way."""
        found = False
        while self.socket is not None:
            try:
                data = self.socket.recv(65535)
            except BlockingIOError:
                break
            except OSError:  # a port that answered unreachable to a check of ours
                continue
            self.seen |= self.ground.token.encode() in data
            found |= token.encode() in data
        return found

    def look(self, attempted: Attempted | None) -> Sighting:
        """The canary arrived in a datagram."""
        del attempted
        self._drain(self.ground.token)
        return Seen(how=f"the datagram reached {self.bind}") if self.seen else Nothing()

    def check(self) -> str:
        """Send a datagram of our own to the same socket."""
        if self.socket is None:
            return "no socket"
        token = fresh_token()
        try:
            host, port, *rest = self.socket.getsockname()
            with socket.socket(self.family, socket.SOCK_DGRAM) as own:
                if self.group or host == BROADCAST:
                    own.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
                    own.setsockopt(socket.SOL_SOCKET, _SO_BINDTODEVICE, b"lo")
                own.sendto(token.encode(), (EVERYWHERE.get(host, host), port, *rest))
        except OSError as error:
            return f"the socket on {self.bind} is gone: {error}"
        return "" if self._drain(token) else f"the socket on {self.bind} did not hear our own datagram"

    def close(self) -> None:
        """Close it."""
        if self.socket:
            self.socket.close()
