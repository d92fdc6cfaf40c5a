"""The launcher's stand-in for the caller's terminal: everything passes, and nothing stays."""

from __future__ import annotations

import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Iterator
from fcntl import ioctl

import pytest

from runners.tier1.plan import LAUNCHER

RELAYED = """
import os, sys
sys.path.insert(0, {folder!r})
import terminal
terminal.run(lambda: os.execv("/bin/sh", ["sh", "-c", sys.argv[1]]))
"""
DIRECT = "import os, sys; os.execv('/bin/sh', ['sh', '-c', sys.argv[1]])"  # the double: the caller's own


class Caller:
    """A shell script on a terminal of ours."""

    def __init__(self, script: str, program: str = RELAYED) -> None:
        text = program.format(folder=str(LAUNCHER))
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", text, script])
        self.shown = b""

    def until(self, text: bytes, seconds: float = 10.0) -> bytes:
        """All that was shown, as soon as that text was, or nothing more can be."""
        end = time.monotonic() + seconds
        while text not in self.shown and time.monotonic() < end:
            if select.select([self.master], [], [], 0.05)[0]:
                try:
                    self.shown += os.read(self.master, 4096)
                except OSError:
                    break
        return self.shown

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def wait(self) -> int:
        """An exit code, or minus a signal's number."""
        self.until(b"said by nobody")
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture
def call() -> Iterator[Callable[..., Caller]]:
    made: list[Caller] = []

    def start(*given: str) -> Caller:
        made.append(Caller(*given))
        return made[-1]

    yield start
    for each in made:
        os.close(each.master)


def test_what_is_typed_and_shown_passes_and_the_exit_code(call: Callable[..., Caller]) -> None:
    caller = call("read line; echo got-$line; exit 7")
    caller.type("word\n")
    assert b"got-word" in caller.until(b"got-word")
    assert caller.wait() == 7


def test_a_signal_that_ends_it_ends_the_launcher(call: Callable[..., Caller]) -> None:
    assert call("kill -TERM $$").wait() == -signal.SIGTERM


def test_a_mebibyte_is_shown_whole(call: Callable[..., Caller]) -> None:
    caller = call("head -c 1048576 /dev/zero | tr '\\0' o; echo; echo end")
    assert caller.wait() == 0
    assert caller.shown.count(b"o") == 1 << 20


CHANGES = "stty raw min 77; stty rows 11 cols 12; echo done"


def state(caller: Caller) -> tuple[object, bytes]:
    return termios.tcgetattr(caller.master), ioctl(caller.master, termios.TIOCGWINSZ, bytes(8))


def test_no_mode_and_no_size_stays(call: Callable[..., Caller]) -> None:
    caller = call(f"read _; {CHANGES}")
    before = state(caller)
    caller.type("\n")
    assert caller.wait() == 0
    assert b"done" in caller.shown
    assert state(caller) == before


def test_no_mode_stays_when_the_launcher_is_ended(call: Callable[..., Caller]) -> None:
    caller = call("echo ready; read _")
    before = state(caller)
    assert b"ready" in caller.until(b"ready")
    raw = state(caller)
    os.kill(caller.pid, signal.SIGTERM)
    assert caller.wait() == 128 + signal.SIGTERM
    assert state(caller) == before != raw


def test_without_a_stand_in_they_stay(call: Callable[..., Caller]) -> None:
    caller = call(f"read _; {CHANGES}", DIRECT)
    before = state(caller)
    caller.type("\n")
    assert caller.wait() == 0
    assert state(caller) != before


def test_the_caller_s_size_is_the_command_s_and_follows(call: Callable[..., Caller]) -> None:
    caller = call(
        "for i in $(seq 200); do stty size; [ \"$(stty size)\" = '33 44' ] && exit 5; sleep 0.02; done"
    )
    assert b"0 0" in caller.until(b"0 0")
    ioctl(caller.master, termios.TIOCSWINSZ, struct.pack("4H", 33, 44, 0, 0))
    assert caller.wait() == 5
