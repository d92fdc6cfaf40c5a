"""System V shared memory, a message queue or a set of semaphores outside, open to everybody.

`plant.kind` is shm, msg or sem; `plant.write` says that the attack leaves the token instead of
reading the canary. The objects have a random key and end with the arm.
Source: sysvipc(7). Their calls are the same on Linux and macOS, but for two commands of semctl.
"""

from __future__ import annotations

import ctypes
import os
import secrets
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from matrix.evidence import Acted, Attempted, Nothing, Seen, Sighting
from matrix.witnesses.contract import Ground, Planted, Unplantable, Watching, fresh_token

IPC_CREAT, IPC_EXCL, IPC_NOWAIT, IPC_RMID = 0o1000, 0o2000, 0o4000, 0
GETVAL, SETVAL = (5, 8) if sys.platform == "darwin" else (12, 16)
MODE = IPC_CREAT | IPC_EXCL | 0o666
SIZE = 64  # bytes of the segment
COUNT, HIGHEST = 8, 32767  # eight semaphores of 15 bits hold a canary of 120 bits
TEXT = 256  # bytes of a message


def _checked(result: int, what: str) -> int:
    if result == -1:
        raise Unplantable(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    libc.msgrcv.restype = ctypes.c_ssize_t
    libc.semctl.argtypes = [ctypes.c_int] * 3  # what follows is variadic
    return libc


class _Object(Protocol):
    """One kind of System V object."""

    id: int

    def put(self, canary: str) -> None:
        """Have it hold this."""
        ...

    def get(self) -> str:
        """What it holds, empty when nothing."""
        ...

    def remove(self) -> None:
        """Take it away."""
        ...


class _Segment:
    def __init__(self, key: int) -> None:
        self.libc = _libc()
        self.id = _checked(self.libc.shmget(key, ctypes.c_size_t(SIZE), MODE), "shmget")

    @contextmanager
    def _attached(self) -> Generator[int]:
        """Attached only for the moment, or it would live on here after somebody removed it."""
        address = self.libc.shmat(self.id, None, 0)
        if address == ctypes.c_void_p(-1).value:
            raise Unplantable(f"shmat: {os.strerror(ctypes.get_errno())}")
        try:
            yield address
        finally:
            self.libc.shmdt(ctypes.c_void_p(address))

    def put(self, canary: str) -> None:
        with self._attached() as address:
            ctypes.memmove(address, canary.encode().ljust(SIZE, b"\0"), SIZE)

    def get(self) -> str:
        try:
            with self._attached() as address:
                return ctypes.string_at(address).decode("latin-1")
        except Unplantable:
            return ""

    def remove(self) -> None:
        self.libc.shmctl(self.id, IPC_RMID, None)


class _Message(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_long), ("text", ctypes.c_char * TEXT))


class _Queue:
    def __init__(self, key: int) -> None:
        self.libc = _libc()
        self.id = _checked(self.libc.msgget(key, MODE), "msgget")

    def put(self, canary: str) -> None:
        message, size = _Message(1, canary.encode()), ctypes.c_size_t(len(canary))
        _checked(self.libc.msgsnd(self.id, ctypes.byref(message), size, IPC_NOWAIT), "msgsnd")

    def get(self) -> str:
        message = _Message()
        received = self.libc.msgrcv(
            self.id, ctypes.byref(message), ctypes.c_size_t(TEXT), ctypes.c_long(0), IPC_NOWAIT
        )
        return "" if received == -1 else bytes(message.text).decode("latin-1")

    def remove(self) -> None:
        self.libc.msgctl(self.id, IPC_RMID, None)


class _Semaphores:
    def __init__(self, key: int) -> None:
        self.libc = _libc()
        self.id = _checked(self.libc.semget(key, COUNT, MODE), "semget")

    def put(self, canary: str) -> None:
        for index, value in enumerate(canary.split()):
            _checked(self.libc.semctl(self.id, index, SETVAL, ctypes.c_int(int(value))), "semctl")

    def get(self) -> str:
        return " ".join(str(self.libc.semctl(self.id, index, GETVAL)) for index in range(COUNT))

    def remove(self) -> None:
        self.libc.semctl(self.id, 0, IPC_RMID)


KINDS: Mapping[str, Callable[[int], _Object]] = {"shm": _Segment, "msg": _Queue, "sem": _Semaphores}


def _canary(kind: str) -> str:
    """What such an object can hold."""
    if kind != "sem":
        return fresh_token()
    return " ".join(str(secrets.randbelow(HIGHEST) + 1) for _ in range(COUNT))


class Witness(Watching):
    """One object for each arm."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.kind = str(ground.case.plant["kind"])
        self.write = bool(ground.case.plant.get("write"))
        self.canary = _canary(self.kind)
        self.object: _Object | None = None

    def plant(self) -> Planted:
        """Make it under a random key, which the attack is told."""
        key = secrets.randbelow(0x7FFFFFFF) + 1
        self.object = KINDS[self.kind](key)
        self.ground.record(f"sysv-{self.kind}", str(self.object.id))  # there is no number before
        told: dict[str, Any] = {"key": key, "size": SIZE, "count": COUNT}
        if not self.write:
            self.object.put(self.canary)
        elif self.kind == "sem":
            told["values"] = [int(value) for value in self.canary.split()]
        else:
            told["token"] = self.canary
        return Planted(told=told)

    def look(self, attempted: Attempted | None) -> Sighting:
        """The attack read the canary, or the object holds it."""
        if self.write:
            if self.object is not None and self.object.get() == self.canary:
                return Seen(how=f"the System V {self.kind} outside holds the canary")
            return Nothing()
        if attempted is not None and isinstance(said := attempted.said, Acted) and self.canary in said.trace:
            return Seen(how=f"the attack read the canary from the System V {self.kind}")
        return Nothing()

    def check(self) -> str:
        """It still holds the canary, or takes and shows one of ours."""
        if self.object is None:
            return "there is no object"
        expected = self.canary
        try:
            if self.write:
                self.object.put(expected := _canary(self.kind))
        except Unplantable as error:
            return str(error)
        held = self.object.get()
        return "" if held == expected else f"the System V {self.kind} does not hold what was put there"

    def close(self) -> None:
        """Remove it."""
        if self.object is not None:
            self.object.remove()
