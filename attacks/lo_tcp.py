"""Connect to a TCP listener of the host's loopback and leave the token there.

The row says the address in one of its spellings, and the protocol where it is not plain TCP
(MPTCP 262, SCTP 132: hooks on TCP may not see them); the harness tells the port. What counts is
the listener's log: a sandbox has a loopback of its own that may answer too. A name is looked up in
/etc/hosts and nowhere else, so that no question leaves the machine.
Sources: Kilo-Org/kilocode#11659 (localhost, mapped IPv6), landlock-lsm/linux#54 (MPTCP), #40 (SCTP).
"""

import os
import socket


def attempt(target):
    """Connect and send; a refused socket() or connect() is the sandbox's answer."""
    target.step("resolve")
    address = listed(target.address) if target.address.isalpha() else target.address
    (family, _, _, _, place), *_ = socket.getaddrinfo(
        address, target.port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST
    )
    target.step("socket")
    connection = socket.socket(family, socket.SOCK_STREAM, target.told.get("protocol", 0))
    connection.settimeout(2)
    target.step("connect")
    connection.connect(place)
    target.step("send")
    connection.sendall(target.token.encode())
    connection.close()


def listed(name):
    """The IPv4 address that /etc/hosts gives to a name."""
    if os.path.exists("/etc/hosts"):
        with open("/etc/hosts") as hosts:
            for line in hosts:
                address, *names = line.split("#")[0].split() or [""]
                if name in names and ":" not in address:
                    return address
    raise NotImplementedError("/etc/hosts does not name %s, and nobody else may be asked" % name)
