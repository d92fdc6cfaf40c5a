"""Dial an address as it is, with no name and no proxy, and leave the token there.

What a proxy's lists say of the address does not matter to whoever dials by himself: no list is the
kernel's. The row says the address, the port, and the protocol where it is not plain TCP.
Sources: github/gh-aw-firewall (its adversarial tests), NVIDIA/OpenShell (bypass detection); tcp(7).
"""

import socket


def attempt(target):
    """Connect and send; a refused socket() or connect() is the sandbox's answer."""
    if "ready" in target.told:
        target.meet()
    family = socket.AF_INET6 if ":" in target.address else socket.AF_INET
    target.step("socket")
    connection = socket.socket(family, socket.SOCK_STREAM, target.told.get("protocol", 0))
    connection.settimeout(2)
    target.step("connect")
    connection.connect((target.address, target.port))
    target.step("send")
    connection.sendall(b"GET / HTTP/1.0\r\nX-Marker: " + target.token.encode() + b".0\r\n\r\n")
    return connection.recv(4096)
