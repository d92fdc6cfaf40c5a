"""A moment that an attack and its witness agree on, through two files in the row's corner.

Some attacks must wait for the harness to act while they run: to connect in, to send something that
may be overheard, to look at an open socket. A pause of fixed length would call a slow harness a
closed door, so the attack says that it is ready and goes on only when the witness has acted.
"""

from __future__ import annotations

import fcntl
import os
import struct
from dataclasses import dataclass
from pathlib import Path

_FLOCK = "hhqqi4x"  # struct flock on 64-bit Linux: type, whence, start, length, pid


@dataclass(frozen=True)
class Meeting:
    """Both sides know the corner; the attack writes `ready`, the witness answers with `met`."""

    corner: Path

    @property
    def told(self) -> dict[str, str]:
        """What the attack must be told for `target.meet()`."""
        return {"ready": str(self.corner / "ready"), "met": str(self.corner / "met")}

    def due(self) -> bool:
        """Whether the attack waits for the witness now."""
        return os.path.lexists(self.corner / "ready") and not os.path.lexists(self.corner / "met")

    def acknowledge(self) -> None:
        """Let the attack go on. The corner is writable inside, so a planted link is not followed."""
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW
        os.close(os.open(self.corner / "met", flags, 0o666))

    def holder(self) -> int:
        """The attack's process as we number it: whoever holds the lock on `ready`; 0 when nobody does.

        The kernel translates the number into our pid namespace (fcntl(2), F_GETLK).
        """
        try:
            ready = os.open(self.corner / "ready", os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
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
