"""Send a datagram past the proxy: to a public resolver, as QUIC, to a group or to everybody on the link.

That sending worked says only that it was queued. So the attack first opens a listener of its own at
the same place: next to the host's that is refused, in a network of the sandbox's own it works, and
a datagram that turns up there never left. Groups and broadcasts go out on the row's interface.
Sources: github/gh-aw-firewall (its adversarial tests), RFC 6762 3 (mDNS), RFC 9000 17.2 (QUIC); ip(7).
"""

import socket
import struct

SO_BINDTODEVICE = 25  # asm-generic/socket.h
QUIC = bytes.fromhex("c00000000108") + b"escapeme" + bytes(2)  # a long header of version 1, an eight-byte id


def attempt(target):
    """A refused socket() or sendto() is the sandbox's answer."""
    place = (target.address, target.port)
    data = shaped(target.token.encode(), target.shape)
    inner = listener(target, place)
    target.step("socket")
    sender = opened(target)
    target.step("sendto")
    sender.sendto(data, place)
    if inner and heard(inner) == data:
        return target.inside("our own listener at the same place received it")


def shaped(token, shape):
    """What is sent: the question of a resolver, a first packet of QUIC, or the token alone."""
    if shape == "dns":
        labels = (token, b"lookup", b"test")
        name = b"".join(bytes((len(label),)) + label for label in labels) + b"\0"
        return struct.pack("!6H", 0x656D, 0x0100, 1, 0, 0, 0) + name + struct.pack("!2H", 1, 1)
    return (QUIC + token).ljust(1200, b"\0") if shape == "quic" else token


def opened(target):
    """A sending socket, tied to the interface that the row says, if it says one."""
    family = socket.AF_INET6 if ":" in target.address else socket.AF_INET
    sender = socket.socket(family, socket.SOCK_DGRAM)
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    if "interface" in target.told:
        index = socket.if_nametoindex(target.interface)
        if family == socket.AF_INET6:
            sender.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
        elif target.platform.startswith("linux"):
            sender.setsockopt(socket.SOL_SOCKET, SO_BINDTODEVICE, target.interface.encode())
    return sender


def listener(target, place):
    """A socket of our own at that place and in that group, None where it is taken or refused."""
    try:
        inner = opened(target)
        inner.settimeout(0.2)
        inner.bind(place)
        if place[0].startswith("224."):
            index = socket.if_nametoindex(target.interface)
            joined = struct.pack("=4s4si", socket.inet_aton(place[0]), bytes(4), index)
            inner.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, joined)
    except OSError:
        return None
    return inner


def heard(inner):
    """The next datagram, empty when none came in time."""
    try:
        return inner.recv(4096)
    except OSError:
        return b""
