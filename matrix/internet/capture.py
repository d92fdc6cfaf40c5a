"""Every attempt to reach an address of the world that no listener of ours would ever see.

A dial to a port that nobody listens on is refused by the kernel, and a datagram is dropped; both have
left all the same. In the world everything passes by the loopback interface: a filter there keeps the
first packet of each connection and all datagrams. Loopback addresses are passed over, where the
proxies themselves and our name server live.

Sources: packet(7), RFC 9293 3.1, RFC 768; linux/filter.h (classic BPF).
"""

from __future__ import annotations

import ctypes
import secrets
import socket
import struct
import threading
from collections.abc import Callable
from ipaddress import ip_address

from matrix.internet.log import Connection

Packet = tuple[Connection, int, int]
"""What was tried, its protocol (socket.IPPROTO_TCP or IPPROTO_UDP), and the port that it comes from."""

_ALL, _OUTGOING = 0x0003, 4  # linux/if_ether.h ETH_P_ALL, linux/if_packet.h PACKET_OUTGOING
_ATTACH_FILTER, _RCVBUFFORCE, _SOL_PACKET, _STATISTICS = 26, 33, 263, 6
_QUEUE = 8 << 20  # bytes
_SEEN = 2.0  # seconds that a packet of our own may take
_FIRST = 0x02  # of the flags of TCP: SYN and not ACK
_MASK = 0x12
_FILTER = (
    (0x30, 0, 0, 0),  # the first byte of the packet: its version
    (0x74, 0, 0, 4),
    (0x15, 0, 6, 4),
    (0x30, 0, 0, 9),  # IPv4: the protocol
    (0x15, 9, 0, socket.IPPROTO_UDP),
    (0x15, 0, 9, socket.IPPROTO_TCP),
    (0xB1, 0, 0, 0),  # the length of the header
    (0x50, 0, 0, 13),  # the flags of TCP
    (0x05, 0, 0, 3),
    (0x30, 0, 0, 6),  # IPv6: the protocol
    (0x15, 3, 0, socket.IPPROTO_UDP),
    (0x30, 0, 0, 53),
    (0x54, 0, 0, _MASK),
    (0x15, 0, 1, _FIRST),
    (0x06, 0, 0, 0xFFFF),
    (0x06, 0, 0, 0),
)
"""Classic BPF: datagrams and first packets of connections, over IPv4 and IPv6."""


class Capture:
    """What is tried, told to `tell` as it comes. Raises OSError where nothing can be captured."""

    def __init__(self, tell: Callable[[Connection, int, int], None]) -> None:
        """Capture from now on; `tell` is called by `start`'s thread with the parts of a Packet."""
        self._tell, self._lost = tell, 0
        self._awaited, self._came = b"", threading.Event()
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ALL))
        try:
            code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in _FILTER))
            program = struct.pack("HL", len(_FILTER), ctypes.addressof(code))
            self._socket.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, program)
            self._socket.bind(("lo", _ALL))
            self._enlarge()
        except OSError:
            self._socket.close()
            raise

    def start(self) -> None:
        """Read, in a thread that ends with the process."""
        threading.Thread(target=self._read, name="capture", daemon=True).start()

    def close(self) -> None:
        """Capture no more."""
        self._socket.close()

    def proof(self) -> str:
        """Why a packet could have gone unseen; empty when none was lost and one of our own is seen."""
        (lost,) = struct.unpack("4xI", self._socket.getsockopt(_SOL_PACKET, _STATISTICS, 8))
        self._lost += lost
        if self._lost:
            return f"the capture lost {self._lost} packets"
        self._awaited = secrets.token_bytes(16)
        self._came.clear()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            own.bind(("127.0.0.1", 0))
            own.sendto(self._awaited, own.getsockname())
        return "" if self._came.wait(_SEEN) else "the capture missed a datagram of our own"

    def _enlarge(self) -> None:
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, _RCVBUFFORCE, _QUEUE)
        except PermissionError:  # in a user namespace: what the usual queue loses is counted
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _QUEUE)

    def _read(self) -> None:
        while True:
            try:
                packet, (_, _, way, *_) = self._socket.recvfrom(1 << 16)
            except OSError:
                return  # closed
            if way == _OUTGOING or not (found := read(packet)):  # each packet goes out and comes in
                continue
            if self._awaited and self._awaited in found[0].arrival().data:
                self._came.set()
            elif not ip_address(found[0].address).is_loopback:
                self._tell(*found)


def read(packet: bytes) -> Packet | None:
    """Where a packet goes, and of a datagram what it carries; None for what is neither of the two kinds."""
    if packet[:1] and packet[0] >> 4 == 4:  # noqa: PLR2004 - the version
        at, protocol, address = (packet[0] & 0xF) * 4, packet[9:10], packet[16:20]
    else:
        at, protocol, address = 40, packet[6:7], packet[24:40]
    if len(packet) < at + 8 or protocol not in {b"\x06", b"\x11"}:
        return None
    source, port = struct.unpack_from("!HH", packet, at)
    found = Connection(str(ip_address(address)), port)
    if protocol == b"\x11":
        found.add(packet[at + 8 :])
    return found, protocol[0], source
