"""A pseudo-terminal of ours, outside: what is typed into it, what is shown on it, and how it is set."""

from __future__ import annotations

import os
import struct
import termios
import time
import tty
from fcntl import ioctl
from pathlib import Path

from matrix.witnesses.contract import Ground, Unplantable

ROWS, COLUMNS = 24, 80
LIMIT = 1 << 16  # bytes kept of what is shown or typed


class OuterTerminal:
    """Both sides, open and non-blocking. The slave is raw without echo unless asked otherwise."""

    def __init__(self, ground: Ground, *, cooked: bool = False) -> None:
        try:
            self.master, self.slave = os.openpty()
        except OSError as error:
            raise Unplantable(f"no pseudo-terminal: {error.strerror}") from error
        self.path = Path(os.ttyname(self.slave))
        if not cooked:
            tty.setraw(self.slave)
        self.resize(ROWS, COLUMNS)
        for side in (self.master, self.slave):
            os.set_blocking(side, False)
        ground.own(self.path, 0o620)
        self._queued = b""
        self._shown = b""

    def queued(self) -> bytes:
        """Everything that has come into the input queue so far, taken out as it comes."""
        self._queued = _drain(self.slave, self._queued)
        return self._queued

    def shown(self) -> bytes:
        """Everything that has been written to the terminal so far."""
        self._shown = _drain(self.master, self._shown)
        return self._shown

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self.master, text.encode())

    def hears(self, token: str) -> bool:
        """Whether a token typed now arrives in the input queue, as it must at once."""
        self.type(token + "\n")
        end = time.monotonic() + 1
        while (arrived := token.encode() in self.queued()) is False and time.monotonic() < end:
            time.sleep(0.002)
        return arrived

    def least(self) -> int:
        """The number of bytes that a read waits for in raw mode; 0 where lines are edited."""
        mode = termios.tcgetattr(self.slave)
        return 0 if mode[3] & termios.ICANON else mode[6][termios.VMIN]

    def resize(self, rows: int, columns: int) -> None:
        """Set rows and columns."""
        ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))

    def size(self) -> tuple[int, int]:
        """Rows and columns."""
        columns, rows = os.get_terminal_size(self.slave)
        return rows, columns

    def close(self) -> None:
        """Give both sides back; with them the terminal is gone."""
        for side in (self.master, self.slave):
            os.close(side)


def _drain(side: int, kept: bytes) -> bytes:
    """What is there at once, added to what was kept."""
    while len(kept) < LIMIT:
        try:
            data = os.read(side, 4096)
        except OSError:  # nothing there, or all other sides are closed
            break
        if not data:
            break
        kept += data
    return kept
