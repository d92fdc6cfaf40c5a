"""A moment that an attack and its witness agree on, through two files in the row's corner.

Some attacks must wait for the harness to act while they run: to connect in, to send something that
may be overheard, to look at an open socket. A pause of fixed length would call a slow harness a
closed door, so the attack says that it is ready and goes on only when the witness has acted.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import struct
from dataclasses import dataclass
from pathlib import Path

_FLOCK = "hhqqi4x"  # struct flock on 64-bit Linux: type, whence, start, length, pid


BROKEN = "broken: "
"""How an answer begins that says that the harness could not do its part: the attack then gives up."""


@dataclass(frozen=True)
class Meeting:
    """Both sides know the corner; the attack writes `ready`, the witness answers with `met`.

    An attack that needs several moments names them: `ready-1`, `met-1`.
    """

    corner: Path
    moment: str = ""

    @property
    def ready(self) -> str:
        """The file by which the attack says that the moment has come."""
        return f"{self.corner}/ready{self._suffix}"

    @property
    def met(self) -> str:
        """The file by which the witness says that it has acted."""
        return f"{self.corner}/met{self._suffix}"

    @property
    def _suffix(self) -> str:
        return f"-{self.moment}" if self.moment else ""

    @property
    def told(self) -> dict[str, str]:
        """What the attack must be told for `target.meet()`, from this moment on."""
        return {"ready": self.ready, "met": self.met}

    def due(self) -> bool:
        """Whether the attack waits for the witness now."""
        return os.path.lexists(self.ready) and not os.path.lexists(self.met)

    def acknowledge(self, said: str = "") -> None:
        """Let the attack go on, and tell it this. The corner is writable inside: no link is followed."""
        fresh = f"{self.met}.{secrets.token_hex(8)}"
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW
        with os.fdopen(os.open(fresh, flags), "w") as answer:
            os.fchmod(answer.fileno(), 0o644)
            answer.write(said)
        try:
            os.link(fresh, self.met)  # all of it is there at once
        finally:
            Path(fresh).unlink()

    def holder(self) -> int:
        """The attack's process as we number it: whoever holds the lock on `ready`; 0 when nobody does.

        The kernel translates the number into our pid namespace (fcntl(2), F_GETLK).
        """
        try:
            ready = os.open(self.ready, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return 0
        try:
            asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            kind, _, _, _, pid = struct.unpack(_FLOCK, fcntl.fcntl(ready, fcntl.F_GETLK, asked))
        except OSError:
            return 0
        finally:
            os.close(ready)
        return pid if kind != fcntl.F_UNLCK else 0
