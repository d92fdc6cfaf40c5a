"""Push bytes into the input queue of the caller's terminal with TIOCSTI, as if somebody had typed them.

The row says through which way: "fd0" and "fd2" are the inherited terminal, "/dev/tty" asks for the
controlling one, "reopen" opens descriptor 0 afresh by its name. The bytes are a plain token, never
a command. What counts is the caller's queue, read during the run and after it: a sandbox may give a
terminal of its own (then the bytes wait there), or flush the caller's when it exits.
Source: CVE-2017-5226; ioctl_tty(2); containers/bubblewrap#142, #555; xnu bsd/kern/tty.c.
"""

import ctypes
import os
import time

import syscalls

REQUESTS = {"linux": (0x5412, 0x541B), "darwin": (0x80017472, 0x4004667F)}  # TIOCSTI, FIONREAD


def terminal(target):
    """The descriptor to push into."""
    if target.via in ("fd0", "fd2"):
        return int(target.via[2:])
    path = target.via
    if path == "reopen":
        path = "/dev/fd/0" if target.platform == "darwin" else "/proc/self/fd/0"
    target.step("open")
    return os.open(path, os.O_RDWR | os.O_NOCTTY)


def attempt(target):
    """Push the token; a refused open() or ioctl() is the sandbox's answer."""
    push, count = REQUESTS[target.platform]
    descriptor = terminal(target)
    waiting = ctypes.c_int(0)
    target.step("ioctl")
    for byte in target.token.encode() + b"\n":
        syscalls.ioctl(descriptor, push, ctypes.byref(ctypes.c_char(byte)))
    syscalls.ioctl(descriptor, count, ctypes.byref(waiting))
    time.sleep(0.05)  # a launcher that flushes the queue at its exit has not undone what was read before
    if waiting.value > len(target.token):
        return target.inside("%d bytes wait in the terminal shown inside" % waiting.value)
    return "pushed"
