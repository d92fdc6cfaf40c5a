"""Put a frame of our own on a link of the host.

The frame has ethertype 0x88B5, kept free for local experiments (IEEE 802), and holds the token. A
frame that comes back to this very socket was on a link of the same name inside; whether it was on
the host's, the harness's capture says.
Sources: moby/moby#31270; packet(7).
"""

import socket
import struct

EXPERIMENT = 0x88B5


def attempt(target):
    """A refused socket(), bind() or send() is the sandbox's answer."""
    token = target.token.encode()
    target.step("socket")
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(EXPERIMENT))
    link.settimeout(0.2)
    target.step("bind")
    link.bind((target.interface, EXPERIMENT))
    target.step("send")
    link.send(bytes(12) + struct.pack("!H", EXPERIMENT) + token.ljust(46, b"\0"))
    try:
        came = link.recv(4096)
    except OSError:
        return None
    return target.inside("our own frame came back to us") if token in came else None
