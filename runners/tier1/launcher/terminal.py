"""A terminal of the command's own: the caller's never enters the sandbox.

A pseudo-terminal stands in for each of the standard three that is a terminal, and what is typed and shown
is passed on here, outside. So the command can set its terminal as it likes, and nothing of it stays: not a
mode, not a size, not a flag of the open file. Sources: pty(7), ioctl_tty(2), termios(3).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import select
import signal
import struct
import sys
import termios
import tty
from typing import Callable, NoReturn

PIECE = 4096
PR_SET_PDEATHSIG = 1


def terminals() -> list[int]:
    """Those of the standard three that are terminals."""
    return [descriptor for descriptor in (0, 1, 2) if os.isatty(descriptor)]


def run(start: Callable[[], object]) -> NoReturn:
    """Call `start()`, which executes the sandbox, in a child on a terminal of its own; end as it ends."""
    given = terminals()
    master, slave = os.openpty()
    before = termios.tcgetattr(given[0])
    termios.tcsetattr(slave, termios.TCSANOW, before)
    resize(master, given[0])
    waking = wake()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)  # who started us is gone: so is the sandbox
    child = os.fork()
    if child == 0:
        for descriptor in given:
            os.dup2(slave, descriptor)
        for descriptor in (master, slave, *waking):
            os.close(descriptor)
        start()
    os.close(slave)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stopped)
    foreground = 0 in given and os.tcgetpgrp(0) == os.getpgrp()
    try:
        if foreground:
            tty.setraw(0, termios.TCSANOW)
        status = relay(child, master, waking[0], given, typed=foreground)
    finally:
        if foreground:
            termios.tcsetattr(0, termios.TCSAFLUSH, before)  # what the command made it answer goes nowhere
    end_as(status)


def resize(master: int, real: int) -> None:
    """Give the command's terminal the size of the caller's."""
    with contextlib.suppress(OSError):
        size = fcntl.ioctl(real, termios.TIOCGWINSZ, struct.pack("4H", 0, 0, 0, 0))
        fcntl.ioctl(master, termios.TIOCSWINSZ, size)


def wake() -> tuple[int, int]:
    """A pipe that becomes readable when the child ends or the caller's terminal changes its size."""
    read, write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGWINCH):
        signal.signal(number, noted)
    return read, write


def noted(*_: object) -> None:
    """The pipe has been written to; a signal without a handler would not do that."""


def stopped(number: int, _: object) -> NoReturn:
    """End as a shell says it, after the caller's terminal is as it was; the sandbox dies with its parent."""
    sys.exit(128 + number)


def relay(child: int, master: int, waking: int, given: list[int], *, typed: bool) -> int:
    """Pass on what is typed and shown until the child has ended and all is shown; gives its wait status."""
    os.set_blocking(master, False)
    waiting, pending = {master, waking, *([0] if typed else [])}, b""
    while True:
        reads = [each for each in waiting if each != 0 or not pending]
        ready, free, _ = select.select(reads, [master] if pending else [], [])
        if free:
            with contextlib.suppress(BlockingIOError):
                pending = pending[os.write(master, pending) :]
        if 0 in ready:
            pending = os.read(0, PIECE)
            if not pending:
                waiting.discard(0)
        if master in ready and not show(master, given[-1]):
            waiting.discard(master)  # every copy of its other side is closed
        if waking in ready:
            os.read(waking, PIECE)
            resize(master, given[0])
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                while show(master, given[-1]):
                    pass
                return status


def show(master: int, real: int) -> bool:
    """Pass on a piece of what is shown; False when there is none."""
    try:
        piece = os.read(master, PIECE)
    except OSError as error:
        if error.errno in (errno.EIO, errno.EAGAIN):
            return False
        raise
    while piece:
        piece = piece[os.write(real, piece) :]
    return True


def end_as(status: int) -> NoReturn:
    """End with the child's exit code, or by the signal that ended it."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    sys.exit(os.WEXITSTATUS(status))
