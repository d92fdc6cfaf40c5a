"""Send an ICMP echo request with the token in it.

Through a raw socket (CAP_NET_RAW), or through the datagram kind that needs no capability where
net.ipv4.ping_group_range admits the group. A packet that only this socket itself gets back was on a
loopback of the sandbox's own; whether it was on the host's, the harness's capture says.
Sources: google/gvisor#6, landlock-lsm/linux#50, CVE-2025-55284; raw(7), icmp(7).
"""

import socket
import struct
import time


def attempt(target):
    """A refused socket() or sendto() is the sandbox's answer."""
    six = ":" in target.address
    family = socket.AF_INET6 if six else socket.AF_INET
    protocol = socket.IPPROTO_ICMPV6 if six else socket.IPPROTO_ICMP
    target.step("socket")
    raw = socket.socket(family, socket.SOCK_DGRAM if target.kind == "ping" else socket.SOCK_RAW, protocol)
    target.step("sendto")
    raw.sendto(echo_request(128 if six else 8, target.token.encode()), (target.address, 0))
    if comes_back(raw, target.token.encode()):
        return target.inside("our own packet came back to us")


def echo_request(kind, payload):
    """The ICMP message; for IPv6 the kernel writes the checksum itself."""
    message = struct.pack("!BBHHH", kind, 0, 0, 0x656D, 1) + payload + bytes(len(payload) % 2)
    total = sum(struct.unpack("!%dH" % (len(message) // 2), message))
    total = (total & 0xFFFF) + (total >> 16)
    return message[:2] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + message[4:]


def comes_back(raw, token, seconds=0.2):
    """Whether the socket receives the token."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        raw.settimeout(seconds)
        try:
            if token in raw.recv(65535):
                return True
        except OSError:
            return False
    return False
