"""Connect to a TCP listener of the host's loopback and leave the token there.

The row says the address in one of its spellings; the harness tells the port. What counts is the
listener's log: a sandbox has a loopback of its own that may answer too.
Source: Kilo-Org/kilocode#11659 (localhost, mapped IPv6, descendants).
"""

import socket


def attempt(target):
    """Connect and send; a refused connect() is the sandbox's answer."""
    family = socket.AF_INET6 if ":" in target.address else socket.AF_INET
    target.step("socket")
    connection = socket.socket(family, socket.SOCK_STREAM)
    connection.settimeout(2)
    target.step("connect")
    connection.connect((target.address, target.port))
    target.step("send")
    connection.sendall(target.token.encode())
    connection.close()
