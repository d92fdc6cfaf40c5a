"""Drives one launch from start to exit: reads its output, lets witnesses look, keeps the deadline."""

from __future__ import annotations

import os
import selectors
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from matrix.transcript import LIMIT
from runners.contract import Exit, Launch, Runner, Running, StartError

TICK = 0.01  # seconds between two looks while a launch runs
GRACE = 0.2  # seconds that output may still arrive after the launcher's exit, if its last word has not
TAIL = 4096  # bytes at the end of the output that the last word is looked for in


@dataclass(frozen=True, kw_only=True)
class Driven:
    """What came of one launch."""

    argv: tuple[str, ...] = ()
    output: bytes = b""
    errors: str = ""
    exit: Exit = Exit()
    ended: str = ""  # how it ended, for a person
    at: float = 0.0  # monotonic time of the launcher's exit
    late: bool = False  # killed at the deadline
    stayed: float = 0.0  # seconds from the command's last word to the launcher's exit
    close: Callable[[], None] = lambda: None  # takes away what the runner itself still holds of it


@dataclass
class _Heard:
    """Bytes by descriptor, bounded."""

    kept: dict[int, bytearray] = field(default_factory=dict[int, bytearray])

    def take(self, descriptor: int) -> bool:
        """Read once; False at end of file."""
        try:
            data = os.read(descriptor, 65536)
        except BlockingIOError:
            return True
        except OSError:  # a terminal whose other side is gone
            return False
        if len(self.kept[descriptor]) < LIMIT:
            self.kept[descriptor] += data
        return bool(data)


def drive(
    runner: Runner,
    launch: Launch,
    deadline: float,
    during: Callable[[bytes], None],
    started: Callable[[Running], None],
    last: bytes,
) -> Driven:
    """Start and see it through, for at most `deadline` seconds.

    `last` is what the command's output ends with, after which nobody need wait for the pipes to close.
    `started` is told of it at once. `during` is told what it has said since: every 10 ms while it runs,
    and at once when it has spoken.
    A sandbox that cannot be started gives a Driven without output whose `ended` says why. What is left
    of it is there until the caller says `close`: a runner's own sweep would end what survived.
    """
    try:
        running = runner.start(launch)
    except (StartError, OSError) as error:
        return Driven(ended=f"could not be started: {error}", at=time.monotonic())
    started(running)
    try:
        return _see_through(running, time.monotonic() + deadline, during, last)
    except BaseException:
        running.close()
        raise


def _see_through(running: Running, end: float, during: Callable[[bytes], None], last: bytes) -> Driven:
    heard = _Heard()
    late = False
    spoken = 0.0  # when the last word was heard
    with selectors.DefaultSelector() as waiting:
        for descriptor in {running.output, running.errors} - {-1}:
            os.set_blocking(descriptor, False)
            heard.kept[descriptor] = bytearray()
            waiting.register(descriptor, selectors.EVENT_READ)
        while (exit_ := running.poll()) is None:
            before = len(heard.kept[running.output])
            _listen(waiting, heard, TICK)
            if not spoken and last in heard.kept[running.output][-TAIL:]:
                spoken = time.monotonic()
            during(bytes(heard.kept[running.output][before:]))
            if not late and time.monotonic() > end:
                late = True
                running.kill()
                end += 10  # a launcher that survives its own kill is given up
            elif late and time.monotonic() > end:
                exit_ = Exit(signal=9)
                break
        at = time.monotonic()
        while waiting.get_map() and (left := at + GRACE - time.monotonic()) > 0:
            said_all = last in heard.kept[running.output][-TAIL:]
            if not _listen(waiting, heard, 0 if said_all else left):
                break
    errors = bytes(heard.kept.get(running.errors, b"")).decode("utf-8", "replace")[-4000:]
    ended = f"killed at the deadline ({exit_})" if late else str(exit_)
    return Driven(
        argv=running.argv,
        output=bytes(heard.kept.get(running.output, b"")),
        errors=errors,
        exit=exit_,
        ended=f"{ended}: {said}" if (said := complaint(errors)) else ended,
        at=at,
        late=late,
        stayed=at - spoken if spoken else 0.0,
        close=running.close,
    )


def _listen(waiting: selectors.BaseSelector, heard: _Heard, seconds: float) -> bool:
    """Wait for output; False when nothing came."""
    if not waiting.get_map():
        time.sleep(seconds)  # nothing can arrive any more; this is the clock of the loop
        return False
    events = waiting.select(seconds)
    for key, _ in events:
        if not heard.take(key.fd):
            waiting.unregister(key.fd)
    return bool(events)


def complaint(errors: str) -> str:
    """The last line that a launcher wrote to standard error; an indented one only goes on with another's."""
    lines = [line for line in errors.splitlines() if line.strip()]
    begun = [line for line in lines if not line[0].isspace()]
    return (begun or lines or [""])[-1].strip()[:300]
