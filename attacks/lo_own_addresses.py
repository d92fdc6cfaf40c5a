"""Reach a service of the host through every address that can be learned inside.

Candidates are the addresses of all interfaces (SIOCGIFCONF) and the gateways of the routing table:
a user-space network often forwards the gateway's address to the host.
Sources: github/gh-aw-firewall (adversarial egress tests), containers/podman#2642; netdevice(7).
"""

import array
import fcntl
import socket
import struct

SIOCGIFCONF = 0x8912
IFREQ = 40  # bytes, on 64-bit Linux


def attempt(target):
    """Connect to each candidate at the told port; the last refusal counts when none took it."""
    if not target.platform.startswith("linux"):
        raise NotImplementedError("SIOCGIFCONF and /proc/net/route are Linux's")
    target.step("socket")
    probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    target.step("list")
    candidates = addresses(probe) + gateways()
    if not candidates:
        return target.absent("interfaces %s have no address" % [name for _, name in socket.if_nameindex()])
    refusal, reached = OSError(), []
    for address in candidates[:32]:
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        connection.settimeout(0.1)
        target.step("connect")
        try:
            connection.connect((address, target.port))
            connection.sendall(target.token.encode())
            reached.append(address)
        except OSError as error:
            refusal = error
        connection.close()
    if not reached:
        raise refusal
    return " ".join(reached)


def addresses(probe):
    """The IPv4 address of every interface that is up."""
    room = array.array("B", bytes(IFREQ * 64))
    asked = array.array("B", struct.pack("iL", len(room), room.buffer_info()[0]))
    fcntl.ioctl(probe, SIOCGIFCONF, asked)
    (used,) = struct.unpack_from("i", asked)
    return [socket.inet_ntoa(room[at + 20 : at + 24]) for at in range(0, used, IFREQ)]


def gateways():
    """The gateways of the routing table; none where it cannot be read."""
    try:
        with open("/proc/net/route") as table:
            words = [line.split()[2] for line in table][1:]
    except OSError:
        return []
    return [socket.inet_ntoa(struct.pack("=I", int(word, 16))) for word in words if int(word, 16)]
