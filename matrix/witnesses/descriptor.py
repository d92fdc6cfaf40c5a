"""An open file of the caller's: sees it read by echo, or written, flagged or moved through a copy.

All copies of a descriptor share one open file, so what a sandboxed process does to its flags and
position shows on ours.
"""

from __future__ import annotations

import os
import secrets
from fcntl import F_GETFL, fcntl

from matrix.evidence import Acted, Attempted, Nothing, Seen, Sighting
from matrix.witnesses.contract import Ground, Planted, Unplantable, Watching, fresh_token


class Witness(Watching):
    """`plant.kind` is "file" (it has no name any more), "memory" (of Linux) or "pipe".

    It holds a mark, which is told, and the canary, which is told only to be left there.
    """

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.kind = str(ground.case.plant["kind"])
        self.act = str(ground.case.args["act"])
        self.mark = fresh_token()
        self.position = 1 + secrets.randbelow(1 << 20)
        self.open: list[int] = []

    def plant(self) -> Planted:
        """Open it; the attack is told neither the number nor the canary."""
        content = self.mark if self.act == "write" else f"{self.mark} {self.ground.token}"
        self.open = self._opened()
        os.write(self.open[-1], content.encode())
        told = {"mark": self.mark, "position": self.position}
        if self.act == "write":
            told["token"] = self.ground.token
        return Planted(told=told, descriptors=(self.open[0],))

    def _opened(self) -> list[int]:
        """What is passed on first, what is written to last."""
        if self.kind == "pipe":
            return list(os.pipe())
        if self.kind == "memory":
            if not hasattr(os, "memfd_create"):
                raise Unplantable("no memory files here")
            return [os.memfd_create("escape-matrix")]
        path = self.ground.place(self.ground.case.place) / "file"
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        path.unlink()
        return [file]

    def look(self, attempted: Attempted | None) -> Sighting:
        """The canary came back, or stands there; the flag or the position is changed."""
        if not self.open:
            return Nothing()
        token = self.ground.token
        match self.act:
            case "read" if attempted and isinstance(attempted.said, Acted) and token in attempted.said.trace:
                return Seen(how=f"the content of the caller's open {self.kind} came back")
            case "write" if token.encode() in os.pread(self.open[0], 4096, 0):
                return Seen(how=f"the canary stands in the caller's open {self.kind}")
            case "flag" if fcntl(self.open[0], F_GETFL) & os.O_NONBLOCK:
                return Seen(how=f"the caller's open {self.kind} no longer waits (O_NONBLOCK)")
            case "seek" if os.lseek(self.open[0], 0, os.SEEK_CUR) == self.position:
                return Seen(how=f"the position in the caller's open {self.kind} was moved")
            case _:
                return Nothing()

    def check(self) -> str:
        """The mark is still where it was, so the file is the one that was passed on."""
        if not self.open:
            return "nothing was opened"
        if self.kind == "pipe":
            return "" if self.mark.encode() in os.read(self.open[0], 4096) else "the pipe was emptied"
        kept = os.pread(self.open[0], 4096, 0).startswith(self.mark.encode())
        return "" if kept else "the open file lost its content"

    def close(self) -> None:
        """Close it."""
        for each in self.open:
            os.close(each)
