"""A capture on a link of the host, opened before the launch and read when somebody looks.

The kernel queues the frames, so there is no thread; what the queue could not take is counted, and a
capture that lost frames is blind.
"""

from __future__ import annotations

import importlib
import select
import socket
import struct
from typing import Any

from matrix.evidence import Attempted, Nothing, Seen, Sighting
from matrix.witnesses import routed
from matrix.witnesses.contract import Ground, Planted, Unplantable, Watching, fresh_token

INSTALL = "pip install 'escape-matrix[packet]'"
QUEUE = 16 << 20  # bytes
_SO_RCVBUFFORCE, _SOL_PACKET, _PACKET_STATISTICS = 33, 263, 6  # asm-generic/socket.h, linux/if_packet.h


class Witness(Watching):
    """Sees the canary in any frame on `plant.interface`, a loopback (default lo).

    `plant.route` is an address that in the network world is routed there.
    """

    transient = True  # read throughout, so that the queue never fills

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.interface = str(ground.case.plant.get("interface", "lo"))
        self.capture: Any = None  # scapy's sockets have no types
        self.seen = False

    def plant(self) -> Planted:
        """Open the capture; the attack is told the token."""
        if address := str(self.ground.case.plant.get("route", "")):
            routed.here(address)
        try:
            importlib.import_module("scapy.layers.l2")  # with it conf knows this platform's sockets
            scapy: Any = importlib.import_module("scapy.config")
        except ImportError:  # it is an optional library
            raise Unplantable(f"a capture of packets needs scapy: {INSTALL}") from None
        try:
            self.capture = scapy.conf.L2listen(iface=self.interface, promisc=False)
        except (OSError, ValueError) as error:
            raise Unplantable(f"cannot capture on {self.interface}: {error}") from error
        self._enlarge()
        return Planted(told={"token": self.ground.token})

    def _enlarge(self) -> None:
        """Ask for a long queue; without the right to, the usual one has to do, and losses are counted."""
        if hasattr(socket, "AF_PACKET"):
            try:
                self.capture.ins.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, QUEUE)
            except PermissionError:
                self.capture.ins.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, QUEUE)

    def _drain(self, token: bytes) -> bool:
        """Read the queue; whether that token was in it. The canary is noticed on the way."""
        found = False
        while self.capture is not None and select.select([self.capture], [], [], 0)[0]:
            _, frame, _ = self.capture.recv_raw()
            frame = bytes(frame or b"")
            self.seen |= self.ground.token.encode() in frame
            found |= token in frame
        return found

    def look(self, attempted: Attempted | None) -> Sighting:
        """The canary was in a frame."""
        del attempted
        self._drain(self.ground.token.encode())
        return Seen(how=f"the capture on {self.interface} holds the canary") if self.seen else Nothing()

    def check(self) -> str:
        """Nothing was lost, and a datagram of our own is captured."""
        if self.capture is None:
            return "no capture"
        if lost := self._lost():
            return f"the capture on {self.interface} lost {lost} frames"
        token = fresh_token().encode()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            own.bind(("127.0.0.1", 0))
            own.sendto(token, own.getsockname())
        return "" if self._drain(token) else f"the capture on {self.interface} missed a datagram of our own"

    def _lost(self) -> int:
        """Frames that did not fit into the queue since the last time we asked."""
        if not hasattr(socket, "AF_PACKET"):
            return 0
        counts = self.capture.ins.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8)
        return struct.unpack("II", counts)[1]

    def close(self) -> None:
        """Close the capture."""
        if self.capture is not None:
            self.capture.close()
