"""Use a connected socket that the launcher's caller had open.

A socket keeps the network namespace it was made in, so a sandbox without a network still carries
it. The harness greets on it with a mark, and only the socket that holds the mark is used: "send"
leaves the token there, "reconnect" takes the socket to another listener, whose port is told.
Source: phylum-dev/birdcage#32; anthropic-experimental/sandbox-runtime README; connect(2).
"""

import ctypes
import errno
import socket
import stat
import struct

import syscalls

# A stranger's socket: nothing to read, not connected, listening, of another kind, hung up.
SILENT = (errno.EAGAIN, errno.ENOTCONN, errno.EINVAL, errno.EOPNOTSUPP, errno.ECONNRESET, errno.ECONNREFUSED)


def find(mark):
    """The socket that holds the mark, looked at without taking it out."""
    for number, is_ in syscalls.inherited():
        if not stat.S_ISSOCK(is_.st_mode):
            continue
        # With the family given Python asks nothing of it; only the new connection is of that family for sure.
        one = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=number)
        try:
            if one.recv(len(mark), socket.MSG_PEEK | socket.MSG_DONTWAIT) == mark:
                return one
        except OSError as error:
            if error.errno not in SILENT:
                raise RuntimeError(
                    "the look was refused, which says nothing of the act: %s" % error
                ) from None
        one.detach()
    return None


def attempt(target):
    """Find it and use it; without it among 3 to 8191 it was closed."""
    if target.act == "reconnect" and target.platform != "linux":
        raise NotImplementedError("only Linux dissolves a TCP connection by connecting to AF_UNSPEC")
    target.step("look")
    found = find(target.mark.encode())
    if found is None:
        return target.absent("descriptors 3 to 8191: the caller's socket is none of them")
    found.settimeout(2)
    if target.act == "reconnect":
        target.step("connect")
        nowhere = ctypes.create_string_buffer(struct.pack("=H14x", socket.AF_UNSPEC), 16)
        syscalls.checked(syscalls.libc().connect(found.fileno(), nowhere, 16))
        found.connect(("127.0.0.1", target.port))
    target.step("send")
    found.sendall(target.token.encode())
    return "sent"
