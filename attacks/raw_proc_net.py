"""List the sockets of the host in /proc/net.

The harness holds a socket whose name or address nobody was told. The attack opens one of its own
kind first: a listing that shows this one and no other belongs to a network of the sandbox's own.
Sources: proc(5), /proc/pid/net; controlplaneio/sandbox-probe (network baseline).
"""

import os
import socket
import struct


def attempt(target):
    """A refused open() is the sandbox's answer."""
    unix = target.table == "unix"
    target.step("open")
    with open("/proc/self/net/" + target.table, errors="replace") as table:
        _own, mine = listener(unix)  # the kernel writes the table when it is read
        rows = [line.split() for line in table][1:]
    names = abstract(rows) if unix else listening(rows)
    if names == [mine]:
        return target.absent("/proc/self/net/%s, which shows our own and no other" % target.table)
    return "\n".join(names)


def listener(unix):
    """A socket of our own that the listing must show, and as what. It is open as long as it is kept."""
    try:
        own = socket.socket(socket.AF_UNIX if unix else socket.AF_INET, socket.SOCK_STREAM)
        if unix:
            own.bind("\0own" + os.urandom(8).hex())
        own.listen(1)  # without bind() the kernel picks a port
        mine = own.getsockname()[1:].decode() if unix else "0.0.0.0:%d" % own.getsockname()[1]
    except OSError as error:
        raise NotImplementedError("no listener of our own to look for in the list: %s" % error) from None
    return own, mine


def abstract(rows):
    """The abstract names, which the kernel writes with an @."""
    return [row[7][1:] for row in rows if len(row) > 7 and row[7].startswith("@")]


def listening(rows):
    """address:port of every listener (state 0A)."""
    places = [row[1].split(":") for row in rows if row[3] == "0A"]
    return [
        "%s:%d" % (socket.inet_ntoa(struct.pack("=I", int(address, 16))), int(port, 16))
        for address, port in places
    ]
