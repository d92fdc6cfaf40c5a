"""A datagram that only travels between addresses of the host, sent when the attack listens for it."""

from __future__ import annotations

import socket

from matrix.evidence import Acted, Attempted, Nothing, Seen, Sighting
from matrix.meeting import Meeting
from matrix.witnesses.contract import Ground, Planted, Watching, fresh_token


class Witness(Watching):
    """Sends the canary to a port of its own on 127.0.0.1; sees it in what the attack returns."""

    transient = True

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.meeting = Meeting(ground.corner)
        self.ours = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.seen = False

    def plant(self) -> Planted:
        """Take a port; the attack is told it, and never the canary."""
        self.ours.bind(("127.0.0.1", 0))
        self.ours.setblocking(False)
        return Planted(told={**self.meeting.told, "port": self.ours.getsockname()[1]})

    def look(self, attempted: Attempted | None) -> Sighting:
        """Send when the attack is ready; the canary crossed when its trace holds it."""
        if attempted is None and self.meeting.due():
            self._send(self.ground.token)
            self.meeting.acknowledge()
        if attempted is not None and isinstance(attempted.said, Acted):
            self.seen |= self.ground.token in attempted.said.trace
        return Seen(how="a datagram between addresses of the host was overheard") if self.seen else Nothing()

    def _send(self, text: str) -> None:
        self.ours.sendto(text.encode(), self.ours.getsockname())

    def check(self) -> str:
        """A datagram of our own travels the same way."""
        token = fresh_token()
        try:
            self._send(token)
            while token.encode() not in self.ours.recv(4096):
                continue
        except OSError as error:
            return f"our datagram did not arrive: {error}"
        return ""

    def close(self) -> None:
        """Give the port back."""
        self.ours.close()
