"""The standard three of a person's command, and what it gets in their place where they would lead out.

Who has a file open, if only for reading, opens it anew through /proc/self/fd with all rights of its owner. A
socket is connected anew, in the network that it was made in; from a directory all below it is reached. So
what is in a file, or goes to one, is copied through a pipe; terminals are the launcher's; pipes, UNIX
connections and the plain devices pass, and nothing else.
Sources: proc(5), connect(2) AF_UNSPEC, CVE-2024-21626.
"""

from __future__ import annotations

import os
import socket
import stat
from contextlib import suppress
from pathlib import Path
from threading import Thread

_PLAIN = ("null", "zero", "full", "random", "urandom")
_CHUNK = 1 << 16


class Standard:
    """Descriptors 0, 1 and 2 as a child may have them; of files, with the pipes between."""

    def __init__(self) -> None:
        """Look at what is open. Raises ValueError for what may not pass."""
        self.given: list[int | None] = [None, None, None]  # None: as it is
        self._far: list[int] = []  # the child's ends of the pipes
        self._outward: list[Thread] = []
        self._sinks: dict[tuple[int, int], int] = {}  # one file is written by one pipe, in one order
        for number in (0, 1, 2):
            with suppress(OSError):  # closed: the launcher sees to it
                self._take(number, os.fstat(number))

    def started(self) -> None:
        """The child has its ends."""
        for descriptor in self._far:
            os.close(descriptor)

    def finish(self) -> None:
        """Come back when all that the ended child has written is in its files."""
        for thread in self._outward:
            thread.join()

    def _take(self, number: int, status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            if not _passes(number, status):
                raise ValueError(
                    f"descriptor {number} leads out of the sandbox: give it a file, a pipe or a terminal"
                )
            return
        file = (status.st_dev, status.st_ino)
        if number and file in self._sinks:
            self.given[number] = self._sinks[file]
            return
        reads, writes = os.pipe()
        far, near = (writes, reads) if number else (reads, writes)
        thread = Thread(target=_copy, args=(near, number) if number else (0, near), daemon=True)
        self.given[number] = far
        self._far.append(far)
        if number:
            self._sinks[file] = far
            self._outward.append(thread)
        thread.start()


def _passes(number: int, status: os.stat_result) -> bool:
    if stat.S_ISFIFO(status.st_mode) or os.isatty(number):
        return True
    if stat.S_ISCHR(status.st_mode):
        return status.st_rdev in {Path(f"/dev/{name}").stat().st_rdev for name in _PLAIN}
    return stat.S_ISSOCK(status.st_mode) and _connected_here(number)


def _connected_here(number: int) -> bool:
    """Whether it is one end of a UNIX connection: it has its other end and gets no further one."""
    with socket.socket(fileno=os.dup(number)) as sock:
        if (sock.family, sock.type) != (socket.AF_UNIX, socket.SOCK_STREAM):
            return False
        with suppress(OSError):
            sock.getpeername()
            return True
    return False


def _copy(source: int, sink: int) -> None:
    """Copy all of one descriptor to the other, and close which of them is a pipe's: it is above 2."""
    with suppress(OSError):  # nobody reads any more, or the disk is full: the child is told by the pipe's end
        while data := os.read(source, _CHUNK):
            while data:
                data = data[os.write(sink, data) :]
    os.close(max(source, sink))
