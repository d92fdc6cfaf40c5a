"""A POSIX shared memory object outside, open to everybody; `plant.write` as for sysv.

Source: shm_overview(7). The name has at most 30 characters, for macOS.
"""

from __future__ import annotations

import mmap
import os
import secrets
from contextlib import suppress

from matrix.evidence import Acted, Attempted, Nothing, Seen, Sighting
from matrix.witnesses import realtime
from matrix.witnesses.contract import Ground, Planted, Unplantable, Watching, fresh_token

SIZE = 64  # bytes


class Witness(Watching):
    """One object for each arm, mapped here too."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.write = bool(ground.case.plant.get("write"))
        self.name = f"/esc-{secrets.token_hex(8)}"
        self.memory: mmap.mmap | None = None

    def plant(self) -> Planted:
        """Make it under a random name, which the attack is told."""
        self.ground.record("posix-shm", self.name)
        try:
            descriptor = realtime.open_memory(self.name, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        except OSError as error:
            raise Unplantable(f"shm_open: {error.strerror}") from error
        try:
            os.ftruncate(descriptor, SIZE)
            os.fchmod(descriptor, 0o666)  # whatever the umask took
            self.memory = mmap.mmap(descriptor, SIZE)
        finally:
            os.close(descriptor)
        told = {"name": self.name, "size": SIZE}
        if self.write:
            return Planted(told={**told, "token": self.ground.token})
        self._put(self.ground.token)
        return Planted(told=told)

    def _put(self, content: str) -> None:
        if self.memory is not None:
            self.memory[: len(content)] = content.encode()

    def _holds(self, content: str) -> bool:
        return self.memory is not None and self.memory[: len(content)] == content.encode()

    def look(self, attempted: Attempted | None) -> Sighting:
        """The attack read the canary, or the object holds it."""
        token = self.ground.token
        if self.write:
            return Seen(how="the shared memory outside holds the canary") if self._holds(token) else Nothing()
        if attempted is not None and isinstance(said := attempted.said, Acted) and token in said.trace:
            return Seen(how="the attack read the canary from the shared memory")
        return Nothing()

    def check(self) -> str:
        """By its name it is still the same memory, in which a change shows."""
        fresh = fresh_token()
        try:
            descriptor = realtime.open_memory(self.name, os.O_RDWR)
        except OSError as error:
            return f"the shared memory has no name any more: {error.strerror}"
        with mmap.mmap(descriptor, SIZE) as memory:
            os.close(descriptor)
            if not self.write and memory[: len(fresh)] != self.ground.token.encode():
                return "the shared memory no longer holds the canary"
            memory[: len(fresh)] = fresh.encode()
        return "" if self._holds(fresh) else "the shared memory of that name is another one by now"

    def close(self) -> None:
        """Take the name away."""
        if self.memory is not None:
            self.memory.close()
            with suppress(OSError):
                realtime.forget_memory(self.name)
