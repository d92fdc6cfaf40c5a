"""A process outside that hands an open file to whoever connects to its unix socket."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from matrix.evidence import Acted, Attempted, Nothing, Seen, Sighting
from matrix.witnesses.contract import Ground, Planted, Unplantable, Watching


class Witness(Watching):
    """The socket lies in the row's corner, the file outside holds the canary; a read counts by echo."""

    transient = True

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.path = ground.corner / "s"
        self.folder: Path | None = None
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.guests: list[socket.socket] = []
        self.file = -1
        self.seen = False

    def plant(self) -> Planted:
        """Listen, and open the file."""
        self.folder = self.ground.place(self.ground.case.place)
        self.file = os.open(self.ground.file(self.folder / "canary", self.ground.token), os.O_RDONLY)
        try:
            self.listener.bind(str(self.path))
        except OSError as error:
            raise Unplantable(f"cannot bind {self.path}: {error}") from error
        self.ground.own(self.path, 0o777)
        self.listener.listen(4)
        self.listener.setblocking(False)
        return Planted(told={"path": str(self.path)})

    def look(self, attempted: Attempted | None) -> Sighting:
        """Serve whoever waits; the canary crossed when the trace holds it."""
        self._serve()
        if attempted is not None and isinstance(attempted.said, Acted):
            self.seen |= self.ground.token in attempted.said.trace
        return Seen(how="the open file was handed in and read") if self.seen else Nothing()

    def _serve(self) -> None:
        try:
            guest, _ = self.listener.accept()
            self.guests.append(guest)
            socket.send_fds(guest, [b"f"], [self.file])
        except OSError:
            return  # nobody there, or gone again

    def check(self) -> str:
        """A guest of our own is handed the file, and it holds the canary."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as own:
            own.settimeout(2)
            try:
                own.connect(str(self.path))
                self._serve()
                _, received, _, _ = socket.recv_fds(own, 1, 1)
                content = os.pread(received[0], 4096, 0)
            except (OSError, IndexError) as error:
                return f"nobody hands out the file at {self.path}: {error}"
            os.close(received[0])
        return "" if self.ground.token.encode() in content else "the file does not hold the canary"

    def close(self) -> None:
        """Close everything and remove what lies about."""
        for each in (*self.guests, self.listener):
            each.close()
        if self.file >= 0:
            os.close(self.file)
        self.path.unlink(missing_ok=True)
        if self.folder:
            self.ground.remove(self.folder)
