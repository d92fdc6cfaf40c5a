"""Connects in to a listener that the attack opened, by TCP or by an abstract unix name."""

from __future__ import annotations

import contextlib
import socket

from matrix.evidence import Attempted, Nothing, Seen, Sighting
from matrix.meeting import Meeting
from matrix.witnesses.contract import Ground, Planted, Unplantable, Watching, fresh_token


class Witness(Watching):
    """Sees the canary in what the listener answers.

    `plant.connect` is the address of the host to connect to (default 127.0.0.1), `plant.abstract`
    asks for an abstract name instead. The attack is told where to listen.
    """

    transient = True

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.meeting = Meeting(ground.corner)
        self.host = str(ground.case.plant.get("connect", "127.0.0.1"))
        self.abstract = bool(ground.case.plant.get("abstract"))
        self.family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        self.place: tuple[str, int] | str = ""
        self.guest: socket.socket | None = None
        self.answer = b""

    def plant(self) -> Planted:
        """Choose a place where nobody listens."""
        told: dict[str, str | int] = {**self.meeting.told, "token": self.ground.token}
        if self.abstract:
            told["name"] = fresh_token()
            self.place = f"\0{told['name']}"
            return Planted(told=told)
        with socket.socket(self.family, socket.SOCK_STREAM) as chosen:
            try:
                chosen.bind((self.host, 0))
            except OSError as error:
                raise Unplantable(f"{self.host} is no address of this host: {error.strerror}") from error
            told["port"] = chosen.getsockname()[1]
        self.place = (self.host, int(told["port"]))
        return Planted(told=told)

    def _connect(self) -> socket.socket | None:
        guest = socket.socket(socket.AF_UNIX if self.abstract else self.family, socket.SOCK_STREAM)
        guest.settimeout(0.5)
        try:
            guest.connect(self.place)
        except OSError:
            guest.close()
            return None
        guest.setblocking(False)
        return guest

    def look(self, attempted: Attempted | None) -> Sighting:
        """Connect when the attack is ready, and read what it answers."""
        if attempted is None and self.meeting.due():
            self.guest = self._connect()
            self.meeting.acknowledge()
        if self.guest is not None:
            with contextlib.suppress(OSError):  # not yet, or hung up
                self.answer += self.guest.recv(4096)
        if self.ground.token.encode() in self.answer:
            shown = f"@{self.place[1:]}" if isinstance(self.place, str) else f"{self.host}:{self.place[1]}"
            return Seen(how=f"the listener inside answered at {shown} of the host")
        return Nothing()

    def check(self) -> str:
        """A listener of our own at the same place is reached from here."""
        family = socket.AF_UNIX if self.abstract else self.family
        with socket.socket(family, socket.SOCK_STREAM) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind(self.place)
                listener.listen(1)
            except OSError as error:
                return f"somebody else is at the place where the attack should listen: {error.strerror}"
            guest = self._connect()
        if guest is None:
            return "a listener of our own at the same place cannot be reached"
        guest.close()
        return ""

    def close(self) -> None:
        """Hang up."""
        if self.guest is not None:
            self.guest.close()
