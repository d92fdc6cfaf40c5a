"""Looks at a socket that the attack created: takes the descriptor out of its process and asks its domain.

Nothing is ever sent through it. Sources: pidfd_getfd(2), socket(7) SO_DOMAIN.
"""

from __future__ import annotations

import ctypes
import os
import socket

from matrix.evidence import Attempted, Nothing, Seen, Sighting
from matrix.meeting import Meeting
from matrix.witnesses.contract import Ground, Planted, Watching

_SO_DOMAIN = 39  # asm-generic/socket.h
_PIDFD_GETFD = 438  # the same number on every architecture
_MOST = 64  # descriptors of the attack's process that are looked at


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
    found: set[int] = set()
    libc = ctypes.CDLL(None, use_errno=True)
    process = os.pidfd_open(pid)
    try:
        for name in sorted(os.listdir(f"/proc/{pid}/fd"), key=int)[:_MOST]:
            if not os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:"):
                continue
            copy = libc.syscall(_PIDFD_GETFD, process, int(name), 0)
            if copy < 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            with socket.socket(fileno=copy) as taken:
                found.add(taken.getsockopt(socket.SOL_SOCKET, _SO_DOMAIN))
    finally:
        os.close(process)
    return found
