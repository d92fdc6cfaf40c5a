"""A UDP socket outside. The kernel queues datagrams, so it needs no thread."""

from __future__ import annotations

import ipaddress
import socket
import struct
from typing import ClassVar

from matrix.evidence import Attempted, Nothing, Seen, Sighting
from matrix.witnesses import routed
from matrix.witnesses.contract import Ground, Planted, Unplantable, Watching, fresh_token
from matrix.witnesses.tcp import EVERYWHERE

BROADCAST = "255.255.255.255"
_SO_BINDTODEVICE = 25  # asm-generic/socket.h


class Ear:
    """One socket and what it has heard. At a port of the row's own, the arms of a row share one."""

    shared: ClassVar[dict[tuple[str, int], Ear]] = {}

    def __init__(self, host: str, port: int) -> None:
        """Bind, and join where that is a group's address. Raises OSError."""
        self.family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.far = host == BROADCAST or ipaddress.ip_address(host).is_multicast
        self.asked, self.users, self.heard = (host, port), 0, bytearray()
        self.socket = socket.socket(self.family, socket.SOCK_DGRAM)
        try:
            self.socket.bind((host, port))
            if self.far and host != BROADCAST:
                joined = struct.pack("=4s4si", socket.inet_aton(host), bytes(4), socket.if_nametoindex("lo"))
                self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, joined)
        except OSError:
            self.socket.close()
            raise
        self.socket.setblocking(False)

    @classmethod
    def at(cls, host: str, port: int) -> Ear:
        """The one at that place, made where there is none. Raises OSError."""
        ear = cls.shared.get((host, port)) or cls(host, port)
        if port:
            cls.shared[host, port] = ear
        ear.users += 1
        return ear

    def hears(self, token: str) -> bool:
        """Read the queue; whether that token was ever in it."""
        while self.socket.fileno() >= 0:
            try:
                self.heard += self.socket.recv(65535)
            except BlockingIOError:
                break
            except OSError:  # a port that answered unreachable to a check of ours
                continue
        return token.encode() in self.heard

    def speak(self, token: str) -> None:
        """Send to this very socket. Raises OSError."""
        host, port, *rest = self.socket.getsockname()
        with socket.socket(self.family, socket.SOCK_DGRAM) as own:
            if self.far:
                own.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
                own.setsockopt(socket.SOL_SOCKET, _SO_BINDTODEVICE, b"lo")
            own.sendto(token.encode(), (EVERYWHERE.get(host, host), port, *rest))

    def leave(self) -> None:
        """The last one closes it."""
        self.users -= 1
        if not self.users:
            self.shared.pop(self.asked, None)
            self.socket.close()


class Witness(Watching):
    """Waits on `plant.bind` (default 127.0.0.1) at `plant.port` (default a free one); sees the canary come.

    `plant.route` says that the address is nobody's here: in the network world it is routed to us. A
    group and the broadcast address are waited at on the loopback. The port is taken without
    SO_REUSEADDR, so that an attack that can have it too is elsewhere.
    """

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.bind = str(ground.case.plant.get("bind", "127.0.0.1"))
        self.ear: Ear | None = None

    def plant(self) -> Planted:
        """Bind; the attack is told port and token, and its row says the address."""
        if self.ground.case.plant.get("route"):
            routed.here(self.bind)
        try:
            self.ear = Ear.at(self.bind, int(self.ground.case.plant.get("port", 0)))
        except OSError as error:
            raise Unplantable(f"cannot wait for datagrams on {self.bind}: {error.strerror}") from error
        return Planted(told={"port": self.ear.socket.getsockname()[1], "token": self.ground.token})

    def look(self, attempted: Attempted | None) -> Sighting:
        """The canary arrived in a datagram."""
        del attempted
        if self.ear and self.ear.hears(self.ground.token):
            return Seen(how=f"the datagram reached {self.bind}")
        return Nothing()

    def check(self) -> str:
        """Send a datagram of our own to the same socket."""
        if self.ear is None:
            return "no socket"
        token = fresh_token()
        try:
            self.ear.speak(token)
        except OSError as error:
            return f"the socket on {self.bind} is gone: {error}"
        return "" if self.ear.hears(token) else f"the socket on {self.bind} did not hear our own datagram"

    def close(self) -> None:
        """Let go of it."""
        if self.ear:
            self.ear.leave()
