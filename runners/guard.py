"""Runs a program for as long as whoever started this lives, and no longer, however either of them ends.

    python3 guard.py [LEFT…] -- PROGRAM ARGUMENT…

Standard input is a pipe that the starter holds open. Every byte that comes is the number of a signal for
the program; its end means that the program, and whatever it has started, is ended at once, and that LEFT,
files that it would leave elsewhere, are removed. Linux alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

MOST = 16 << 20  # bytes that a file of the program's may have: a log that grows further ends it
PR_SET_CHILD_SUBREAPER = 36


def main(argv: Sequence[str]) -> int:
    """Run it; gives its exit code, 128 and the signal's number where one ended it."""
    end = argv.index("--")
    left, command = argv[:end], argv[end + 1 :]
    signal.signal(signal.SIGTERM, _leave)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST, MOST))
    with contextlib.ExitStack() as ends:
        for path in left:
            ends.callback(Path(path).unlink, missing_ok=True)
        program = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
        ends.callback(_end, program)
        _watch(program)
    return program.returncode if program.returncode >= 0 else 128 - program.returncode


def _watch(program: subprocess.Popen[bytes]) -> None:
    """Until the program has ended, or its starter has."""
    ended = os.pidfd_open(program.pid)
    while True:
        ready, _, _ = select.select([0, ended], [], [])
        told = os.read(0, 1) if 0 in ready else b"\0"
        if ended in ready or not told:
            return
        program.send_signal(told[0])


def _end(program: subprocess.Popen[bytes]) -> None:
    """The program, which is not buried yet, so that its number still means it; then whom it left to us."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGKILL)
    program.wait()
    mine = Path(f"/proc/self/task/{os.getpid()}/children")
    with contextlib.suppress(FileNotFoundError):  # a kernel without that list
        while left := mine.read_text().split():
            for pid in left:
                os.kill(int(pid), signal.SIGKILL)
            os.waitpid(-1, 0)


def _leave(_: int, __: FrameType | None) -> None:
    sys.exit(128 + signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
