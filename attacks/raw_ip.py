"""Send a whole IPv4 packet of our own making, with a source address that is not the sandbox's.

IPPROTO_RAW takes the header as it is; the protocol number is 253, kept free for experiments
(RFC 3692). A second raw socket, open before the sending, tells a private loopback.
The length in the host's byte order on macOS is from its ip(4), and was never run on a Mac.
Sources: raw(7); docker's default CAP_NET_RAW; gVisor's --net-raw.
"""

import socket
import struct

EXPERIMENT = 253


def attempt(target):
    """A refused socket() or sendto() is the sandbox's answer."""
    token = target.token.encode()
    target.step("socket")
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    raw.setsockopt(socket.IPPROTO_IP, socket.IP_HDRINCL, 1)
    inner = socket.socket(socket.AF_INET, socket.SOCK_RAW, EXPERIMENT)
    inner.settimeout(0.2)
    target.step("sendto")
    raw.sendto(header(target, len(token)) + token, (target.address, 0))
    try:
        came = inner.recv(4096)
    except OSError:
        return None
    return target.inside("our own packet came back to us") if token in came else None


def header(target, length):
    """Twenty bytes; the kernel writes the checksum. macOS wants the length in the host's byte order."""
    order = "=" if target.platform == "darwin" else "!"
    size = struct.pack(order + "H", 20 + length)
    return (
        b"\x45\0"
        + size
        + struct.pack("!HHBBH", 0, 0, 64, EXPERIMENT, 0)
        + socket.inet_aton(target.source)
        + socket.inet_aton(target.address)
    )
