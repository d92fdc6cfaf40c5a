"""Take the caller's terminal, still open on descriptor 0, for a session of one's own; push bytes into it.

A sandbox that only leaves the session (setsid) leaves the terminal open. "force" takes it from a
living session, which CAP_SYS_ADMIN allows. "wait" leaves a process behind: as soon as the launcher,
which led the session, is gone, the terminal is anybody's who has it open. That process waits
another 0.1 s before it pushes, so that it counts only where it stayed, and ends within two seconds.
Source: TIOCSCTTY(2const), credentials(7), capabilities(7); google/nsjail --skip_setsid ("dangerous").
"""

import ctypes
import os
import signal
import time

import syscalls

REQUESTS = {"linux": (0x540E, 0x5412), "darwin": (0x20007461, 0x80017472)}  # TIOCSCTTY, TIOCSTI
FIONREAD = 0x541B  # as on Linux, the only one that is forced
LONGEST = 2.0  # seconds


def push(target):
    """Push the token into the terminal that this process's session now has."""
    for byte in target.token.encode() + b"\n":
        syscalls.ioctl(0, REQUESTS[target.platform][1], ctypes.byref(ctypes.c_char(byte)))


def wait(target, ready):
    """In the process that stays: try until the terminal is free, then push."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.setsid()
    os.write(ready, b"r")
    os.closerange(1, 1024)
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        try:
            syscalls.ioctl(0, REQUESTS[target.platform][0], 0)
            break
        except OSError:
            time.sleep(0.005)
    else:
        return  # still another's: who may push without having it has not reacquired anything
    time.sleep(0.1)
    push(target)


def force(target):
    """In a child: take it from whoever has it, push. The errno, 0 for none."""
    try:
        os.setsid()
        syscalls.ioctl(0, REQUESTS[target.platform][0], 1)
        push(target)
    except OSError as error:
        return error.errno
    return 0


def forked(act, *arguments):
    """The process id of a child that only does this, its result as exit code."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = act(*arguments) or 0
        finally:
            os._exit(code)
    return pid


def attempt(target):
    """A descriptor 0 that is no terminal, or a refused request, is the sandbox's answer."""
    if target.way == "force":
        if target.platform != "linux":
            raise NotImplementedError("only Linux takes a terminal from a living session")
        target.step("ioctl")
        code = os.WEXITSTATUS(os.waitpid(forked(force, target), 0)[1])
        if code:
            raise OSError(code, os.strerror(code))
        waiting = ctypes.c_int(0)
        syscalls.ioctl(0, FIONREAD, ctypes.byref(waiting))
        time.sleep(0.05)  # the queue is read from outside meanwhile
        if waiting.value > len(target.token):
            return target.inside("%d bytes wait in the terminal shown inside" % waiting.value)
        return "pushed"
    target.step("size")
    os.get_terminal_size(0)
    reader, writer = os.pipe()
    target.step("fork")
    forked(wait, target, writer)
    os.close(writer)
    if os.read(reader, 1) != b"r":
        raise RuntimeError("the process that should stay did not start")
    return target.inside("a process waited for the terminal, and nothing of it came afterwards")
