"""Have the kernel send the signal: name a process outside as the owner of a pipe's events.

Sources: fcntl(2) F_SETOWN and F_SETSIG; landlock(7) LANDLOCK_SCOPE_SIGNAL.
"""

import fcntl
import os
import signal

import syscalls

F_SETSIG = 10
O_ASYNC = 0o20000


def attempt(target):
    """Own pipe, foreign owner, one byte to set it off."""
    target.step("find")
    if not syscalls.is_victim(target):
        return target.absent(syscalls.unseen(target))
    read, write = os.pipe()
    target.step("F_SETOWN")
    fcntl.fcntl(read, fcntl.F_SETOWN, target.pid)
    fcntl.fcntl(read, F_SETSIG, int(signal.SIGUSR1))
    fcntl.fcntl(read, fcntl.F_SETFL, fcntl.fcntl(read, fcntl.F_GETFL) | O_ASYNC)
    target.step("write")
    os.write(write, b"!")
    return "set off SIGUSR1"
