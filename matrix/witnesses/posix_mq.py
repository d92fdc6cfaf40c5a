"""A POSIX message queue outside, open to everybody; `plant.write` as for sysv. Linux only.

Source: mq_overview(7).
"""

from __future__ import annotations

import ctypes
import os
import secrets
import sys
from contextlib import suppress

from matrix.evidence import Acted, Attempted, Nothing, Seen, Sighting
from matrix.witnesses import realtime
from matrix.witnesses.contract import Ground, Planted, Unplantable, Watching, fresh_token

LONGEST = 256  # bytes of a message; attacks receive into as many


class _Attributes(ctypes.Structure):
    """struct mq_attr: four longs and four that are reserved."""

    _fields_ = (
        ("flags", ctypes.c_long),
        ("most", ctypes.c_long),
        ("longest", ctypes.c_long),
        ("rest", ctypes.c_long * 5),
    )


class Witness(Watching):
    """One queue for each arm, held open here."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.write = bool(ground.case.plant.get("write"))
        self.name = f"/esc-{secrets.token_hex(8)}"
        self.queue = -1
        self.received: list[bytes] = []

    def plant(self) -> Planted:
        """Make it under a random name, which the attack is told."""
        if sys.platform != "linux":
            raise Unplantable("there are no POSIX message queues")
        self.ground.record("posix-mq", self.name)
        self.calls = realtime.library()
        self.calls.mq_receive.restype = ctypes.c_ssize_t
        attributes = _Attributes(0, 4, LONGEST)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NONBLOCK | os.O_CLOEXEC
        self.queue = self.calls.mq_open(self.name.encode(), flags, 0o666, ctypes.byref(attributes))
        if self.queue == -1:
            raise Unplantable(f"mq_open: {os.strerror(ctypes.get_errno())}")
        os.fchmod(self.queue, 0o666)  # whatever the umask took; on Linux a queue is a descriptor
        if self.write:
            return Planted(told={"name": self.name, "token": self.ground.token})
        self._send(self.ground.token)
        return Planted(told={"name": self.name})

    def _send(self, content: str) -> bool:
        return self.calls.mq_send(self.queue, content.encode(), ctypes.c_size_t(len(content)), 1) == 0

    def _got(self, content: str) -> bool:
        """Whether that message has come, after all that wait have been taken."""
        message = ctypes.create_string_buffer(LONGEST)
        while (length := self.calls.mq_receive(self.queue, message, ctypes.c_size_t(LONGEST), None)) >= 0:
            self.received.append(message.raw[:length])
        return content.encode() in self.received

    def look(self, attempted: Attempted | None) -> Sighting:
        """The attack received the canary, or it came into the queue."""
        token = self.ground.token
        if self.write:
            return Seen(how="the message queue outside holds the canary") if self._got(token) else Nothing()
        if attempted is not None and isinstance(said := attempted.said, Acted) and token in said.trace:
            return Seen(how="the attack received the canary from the message queue")
        return Nothing()

    def check(self) -> str:
        """The queue still has the canary, or passes on one of ours."""
        expected = self.ground.token
        if self.write and not self._send(expected := fresh_token()):
            return "the message queue takes no message any more"
        return "" if self._got(expected) else "the message queue does not hold what was put there"

    def close(self) -> None:
        """Close it and take the name away."""
        if self.queue != -1:
            os.close(self.queue)
            with suppress(OSError):
                realtime.forget_queue(self.name)
