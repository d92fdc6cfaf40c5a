"""A connected socket that the caller has open: sees the canary arrive at its other end, or elsewhere."""

from __future__ import annotations

import socket

from matrix.evidence import Attempted, Nothing, Seen, Sighting
from matrix.witnesses.contract import Ground, Planted, Unplantable, Watching, fresh_token


class Witness(Watching):
    """`plant.family` is "tcp" or "unix". A second TCP listener waits for a socket that is taken there."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.mark = fresh_token()
        self.passed: socket.socket | None = None
        self.other: socket.socket | None = None
        self.elsewhere: socket.socket | None = None
        self.taken: list[socket.socket] = []  # connections to elsewhere
        self.heard = b""

    def plant(self) -> Planted:
        """Connect both ends and greet; the attack is told the greeting, the token and the second port."""
        told: dict[str, str | int] = {"mark": self.mark, "token": self.ground.token}
        try:
            if self.ground.case.plant["family"] == "unix":
                self.passed, self.other = socket.socketpair()
            else:
                with socket.create_server(("127.0.0.1", 0)) as server:
                    self.passed = socket.create_connection(server.getsockname(), timeout=2)
                    self.other, _ = server.accept()
                self.elsewhere = socket.create_server(("127.0.0.1", 0))
                self.elsewhere.setblocking(False)
                told["port"] = self.elsewhere.getsockname()[1]
        except OSError as error:
            raise Unplantable(f"cannot connect a socket: {error.strerror}") from error
        self.other.sendall(self.mark.encode())
        self.other.setblocking(False)
        self.passed.setblocking(True)
        return Planted(told=told, descriptors=(self.passed.fileno(),))

    def _drain(self, end: socket.socket) -> None:
        try:
            while len(self.heard) < 1 << 16 and (data := end.recv(4096)):
                self.heard += data
        except OSError:  # nothing there now, or the other side has dissolved the connection
            pass

    def _accept(self) -> None:
        while self.elsewhere:
            try:
                taken, _ = self.elsewhere.accept()
            except OSError:
                break
            taken.setblocking(False)
            self.taken.append(taken)
        for each in self.taken:
            self._drain(each)

    def look(self, attempted: Attempted | None) -> Sighting:
        """The canary arrived as bytes."""
        del attempted
        if self.other:
            self._drain(self.other)
        self._accept()
        if self.ground.token.encode() in self.heard:
            return Seen(how="the canary came through the caller's connected socket")
        return Nothing()

    def check(self) -> str:
        """Send a token of our own through the same socket, or to where it may be taken."""
        if not (self.passed and self.other):
            return "no socket"
        token = fresh_token().encode()
        try:
            if self.ground.case.args["act"] == "reconnect" and self.elsewhere:
                with socket.create_connection(self.elsewhere.getsockname(), timeout=1) as own:
                    own.sendall(token)
                    self._accept()
            else:
                self.passed.sendall(token)
                self._drain(self.other)
        except OSError as error:
            return f"the socket is no longer connected: {error}"
        return "" if token in self.heard else "the socket does not carry our own token"

    def close(self) -> None:
        """Close all."""
        for each in (self.passed, self.other, self.elsewhere, *self.taken):
            if each:
                each.close()
