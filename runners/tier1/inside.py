"""The first program inside the sandbox: hands the listening socket out, then becomes the command.

    python3 -I -S inside.py '{"door": 5, "terminal": false, "guarded": [], "close": true}' COMMAND…

The sandbox's network is its own and leads nowhere. Its only way out is a listening socket on its loopback,
made here and passed out through `door`, one end of a socket pair; the proxy outside accepts from it. Both
are closed before the command runs: nothing in the sandbox relays, and no socket has a path.

Standard library, Python 3.8 and newer, Linux. Sources: unix(7) SCM_RIGHTS, bwrap(1), ioctl_tty(2).
"""

from __future__ import annotations

import array
import fcntl
import json
import os
import re
import signal
import socket
import sys
import termios
from typing import NoReturn

PORT = 3128
BACKLOG = 512
CANNOT = 125  # exit code: the sandbox is not as it was asked for
IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)  # by Python, and what it executes would inherit that


def main() -> None:
    """Everything that is to be done inside, in its order. Comes back only by an exit."""
    told, command = json.loads(sys.argv[1]), sys.argv[2:]
    missing = unguarded(told["guarded"])
    if missing:
        fail("%s is not guarded: somebody moved it while the sandbox was made; start again" % missing)
    if told["door"] >= 0:
        hand_out(told["door"])
    if told["terminal"]:
        control()
    if told["close"]:
        os.closerange(3, highest() + 1)
    for number in IGNORED:
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(command[0], command, environment())
    except OSError as error:
        print("tier1: cannot execute %s: %s" % (command[0], error.strerror), file=sys.stderr)
        sys.exit(127 if isinstance(error, FileNotFoundError) else 126)


def fail(why: str) -> NoReturn:
    """Say why there is no sandbox, and end."""
    print("tier1: %s" % why, file=sys.stderr)
    sys.exit(CANNOT)


def unguarded(paths: list[str]) -> str:
    """The first of those paths where no mount stands, or that leads elsewhere; empty: all are as asked."""
    with open("/proc/self/mountinfo", "rb") as lines:
        points = {unescaped(line.split()[4]) for line in lines}
    for path in paths:
        if os.fsencode(path) not in points or os.path.realpath(path) != path:
            return path
    return ""


def unescaped(point: bytes) -> bytes:
    """A mount point as proc(5) writes it: blanks and backslashes as three octal digits."""
    return re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found.group(1), 8)]), point)


def hand_out(door: int) -> None:
    """Listen, pass the socket out, and keep nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener, socket.socket(fileno=door) as way:
        listener.bind(("127.0.0.1", PORT))
        listener.listen(BACKLOG)
        rights = array.array("i", [listener.fileno()])
        way.sendmsg([b"l"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])


def control() -> None:
    """Make the private terminal that was given this session's own: interrupts and job control work."""
    os.setsid()  # bwrap's own first process leads the session until now
    for descriptor in (0, 1, 2):
        if os.isatty(descriptor):
            fcntl.ioctl(descriptor, termios.TIOCSCTTY, 0)
            return


def highest() -> int:
    """The highest open descriptor."""
    return max(int(name) for name in os.listdir("/proc/self/fd"))


def environment() -> dict[bytes, bytes]:
    """The environment as it was given: an interpreter may have added to its own (LC_CTYPE)."""
    found: dict[bytes, bytes] = {}
    with open("/proc/self/environ", "rb") as block:
        for entry in block.read().split(b"\0"):
            name, equals, value = entry.partition(b"=")
            if equals:
                found[name] = value
    return found


if __name__ == "__main__":
    main()
