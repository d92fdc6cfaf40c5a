"""Receive an open file of the outside over a unix socket, and read it.

A descriptor that comes over a socket (SCM_RIGHTS) passes every later check of paths.
Sources: landlock-lsm/linux#57, google/gvisor#235; unix(7), cmsg(3).
"""

import array
import os
import socket


def attempt(target):
    """Connect, take the descriptor, return what its file holds."""
    target.step("socket")
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(2)
    target.step("connect")
    connection.connect(target.path)
    target.step("recvmsg")
    received = array.array("i")
    _, extra, _, _ = connection.recvmsg(1, socket.CMSG_SPACE(received.itemsize))
    for level, kind, data in extra:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            received.frombytes(data[: received.itemsize])
    if not received:
        raise RuntimeError("the message arrived without the descriptor")
    target.step("read")
    return os.pread(received[0], 4096, 0)
