"""Wait until the caller's session has let go of its terminal, then take it and push bytes into it.

A sandbox that only leaves the session (setsid) leaves the terminal open on descriptor 0. As soon as
the launcher, which led the session, is gone, a process that stayed may make that terminal its own
with TIOCSCTTY, and TIOCSTI is allowed again. The process ends by itself within three seconds.
Source: tty_ioctl(4), credentials(7); google/nsjail --skip_setsid ("dangerous").
"""

import ctypes
import os
import signal
import time

import syscalls

REQUESTS = {"linux": (0x540E, 0x5412), "darwin": (0x20007461, 0x80017472)}  # TIOCSCTTY, TIOCSTI
PATIENCE = 3.0  # seconds


def take(target, ready):
    """In the process that stays: try until the terminal is free, then push the token."""
    control, push = REQUESTS[target.platform]
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.setsid()
    os.write(ready, b"r")
    os.closerange(1, 1024)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            syscalls.ioctl(0, control, 0)
            for byte in target.token.encode() + b"\n":
                syscalls.ioctl(0, push, ctypes.byref(ctypes.c_char(byte)))
            return
        except OSError:
            time.sleep(0.005)


def attempt(target):
    """Leave the process behind; a descriptor 0 that is no terminal is the sandbox's answer."""
    target.step("size")
    os.get_terminal_size(0)
    reader, writer = os.pipe()
    target.step("fork")
    if os.fork() == 0:
        try:
            take(target, writer)
        finally:
            os._exit(0)
    os.close(writer)
    if os.read(reader, 1) != b"r":
        raise RuntimeError("the process that should stay did not start")
    return target.inside("a process waited for the terminal, and its bytes stayed away")
