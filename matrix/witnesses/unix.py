"""A unix socket outside, at a path or under an abstract name. It is read when somebody looks."""

from __future__ import annotations

import socket
from pathlib import Path

from matrix.evidence import Attempted, Nothing, Seen, Sighting
from matrix.witnesses.contract import Ground, Planted, Unplantable, Watching, fresh_token

KINDS = {"stream": socket.SOCK_STREAM, "dgram": socket.SOCK_DGRAM}
if hasattr(socket, "SOCK_SEQPACKET"):  # not on macOS
    KINDS["seqpacket"] = socket.SOCK_SEQPACKET


class Witness(Watching):
    """Sees the canary in what arrives.

    `plant.kind` is stream (the default), dgram or seqpacket. `plant.abstract` asks for an abstract
    name, `plant.workspace` for a path in the row's corner; otherwise the row's place has the path.
    """

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.kind = str(ground.case.plant.get("kind", "stream"))
        self.address = ""
        self.folder: Path | None = None
        self.listener: socket.socket | None = None
        self.open: list[socket.socket] = []
        self.heard = b""

    def plant(self) -> Planted:
        """Listen; the attack is told path or name, token, and a directory it may write in."""
        if self.kind not in KINDS:
            raise Unplantable(f"this system has no {self.kind} unix sockets")
        told: dict[str, str] = {"token": self.ground.token, "corner": str(self.ground.corner)}
        if self.ground.case.plant.get("abstract"):
            told["name"] = fresh_token()
            self.address = "\0" + told["name"]
        elif self.ground.case.plant.get("workspace"):
            told["path"] = self.address = str(self.ground.corner / "s")
        else:
            self.folder = self.ground.place(self.ground.case.place)
            told["path"] = self.address = str(self.folder / "s")
        self.listener = socket.socket(socket.AF_UNIX, KINDS[self.kind])
        try:
            self.listener.bind(self.address)
        except OSError as error:
            raise Unplantable(f"cannot bind {self.address}: {error}") from error
        if "path" in told:
            self.ground.own(Path(told["path"]), 0o777)
        if self.kind != "dgram":
            self.listener.listen(16)
        self.listener.setblocking(False)
        return Planted(told=told)

    def _drain(self) -> None:
        if self.listener is None:
            return
        if self.kind == "dgram":
            self._read(self.listener)
            return
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                break
            connection.setblocking(False)
            self.open.append(connection)
        for connection in self.open:
            self._read(connection)

    def _read(self, connection: socket.socket) -> None:
        try:
            while len(self.heard) < 1 << 20 and (data := connection.recv(4096)):
                self.heard += data
        except OSError:
            return

    def look(self, attempted: Attempted | None) -> Sighting:
        """The canary arrived as bytes."""
        del attempted
        self._drain()
        if self.ground.token.encode() in self.heard:
            return Seen(how=f"the {self.kind} socket at {self._shown()} received the canary")
        return Nothing()

    def _shown(self) -> str:
        return "@" + self.address[1:] if self.address.startswith("\0") else self.address

    def check(self) -> str:
        """Send a token of our own by the same path or name."""
        token = fresh_token().encode()
        try:
            with socket.socket(socket.AF_UNIX, KINDS[self.kind]) as own:
                own.settimeout(2)
                own.connect(self.address)
                own.send(token)
        except OSError as error:
            return f"nobody listens at {self._shown()}: {error.strerror}"
        self._drain()
        return "" if token in self.heard else f"the socket at {self._shown()} did not hear our own token"

    def close(self) -> None:
        """Close everything and remove the path."""
        for each in [*self.open, *([self.listener] if self.listener else [])]:
            each.close()
        if self.address and not self.address.startswith("\0"):
            Path(self.address).unlink(missing_ok=True)
        if self.folder:
            self.ground.remove(self.folder)
