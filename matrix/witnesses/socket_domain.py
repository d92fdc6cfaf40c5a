"""Looks at a socket that the attack created: takes the descriptor out of its process and asks its domain.

Nothing is ever sent through it. Sources: pidfd_getfd(2), socket(7) SO_DOMAIN.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket

from matrix.evidence import Attempted, Nothing, Seen, Sighting
from matrix.meeting import Meeting
from matrix.witnesses.contract import Ground, Planted, Watching

_SO_DOMAIN = 39  # asm-generic/socket.h
_PIDFD_GETFD = 438  # the same number on every architecture
_MOST = 8192  # descriptors of one process that are looked at: as many as a run lets a process have
_CLOSED = {errno.ENOENT, errno.EBADF}  # a descriptor that was listed and is gone: a listing lists its own


class Witness(Watching):
    """Sees a socket of the family `plant.domain` (a number) in the attack's process."""

    transient = True

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.meeting = Meeting(ground.corner)
        self.domain = int(ground.case.plant["domain"])
        self.seen = False
        self.blind = ""

    def plant(self) -> Planted:
        """Nothing to plant: the attack shows its process by a lock."""
        return Planted(told=self.meeting.told)

    def look(self, attempted: Attempted | None) -> Sighting:
        """When the attack is ready, look through its sockets."""
        if attempted is None and self.meeting.due() and (pid := self.meeting.holder()):
            try:
                self.seen = self.domain in domains(pid)
            except OSError as error:
                self.blind = f"cannot look at the attack's sockets: {error.strerror}"
            self.meeting.acknowledge()
        if self.seen:
            return Seen(how=f"the attack's process holds a socket of family {self.domain}")
        return Nothing()

    def check(self) -> str:
        """A socket of our own shows its domain the same way."""
        if self.blind:
            return self.blind
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM):
            try:
                shown = socket.AF_UNIX in domains(os.getpid())
            except OSError as error:
                return f"cannot look at a process's sockets: {error.strerror}"
        return "" if shown else "our own socket does not show its domain"


def domains(pid: int) -> set[int]:
    """The families of a process's sockets. Raises OSError where it may not be looked at."""
    process = os.pidfd_open(pid)
    try:
        names = sorted(os.listdir(f"/proc/{pid}/fd"), key=int)[:_MOST]
        return set[int]().union(*(_domain(process, pid, int(name)) for name in names))
    finally:
        os.close(process)


def _domain(process: int, pid: int, descriptor: int) -> set[int]:
    """The family of one descriptor, if it is a socket's and still there."""
    try:
        if not os.readlink(f"/proc/{pid}/fd/{descriptor}").startswith("socket:"):
            return set()
        copy = _copy(process, descriptor)
    except OSError as error:
        if error.errno in _CLOSED:
            return set()
        raise
    with socket.socket(fileno=copy) as taken:
        return {taken.getsockopt(socket.SOL_SOCKET, _SO_DOMAIN)}


def _copy(process: int, descriptor: int) -> int:
    """Another process's descriptor as one of ours. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if (copy := libc.syscall(_PIDFD_GETFD, process, descriptor, 0)) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return copy
