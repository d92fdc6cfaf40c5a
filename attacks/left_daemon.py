"""Leave a process behind that goes on after the command has ended.

"background" is a plain child, "stdio" one that also keeps standard output open, "setsid" has a
session of its own, "double-fork" is a classic daemon that ignores the usual signals, "subreaper"
has undone the parent-death signal and adopts its own orphans, "tree" is a child in another process
group with a grandchild in another session, both deaf to polite signals. Each beats into a file of
the workspace until that file is gone, for at most four seconds, and carries the token as its name.
Source: multikernel/sandlock#251, #252; containers/bubblewrap#88; langfuse/langfuse#15955; prctl(2).
"""

import os
import signal
import time

import syscalls

PR_SET_PDEATHSIG, PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 1, 15, 36
LONGEST = 4.0  # seconds
PERIOD = 0.03  # seconds
DEAF = ("double-fork", "tree")


def beat(target):
    """Append a line every 30 ms."""
    log = os.open(target.log, os.O_WRONLY | os.O_APPEND)
    if target.platform == "linux":
        syscalls.libc().prctl(PR_SET_NAME, target.token[:14].encode(), 0, 0, 0)
    end = time.monotonic() + LONGEST
    while time.monotonic() < end and os.fstat(log).st_nlink:
        os.write(log, target.token.encode() + b"\n")
        time.sleep(PERIOD)


def leave(target):
    """In the child: become what the row says, then beat."""
    if target.how != "stdio":
        os.closerange(0, 1024)
    if target.how in DEAF:
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
    if target.how == "subreaper":
        for option, value in ((PR_SET_PDEATHSIG, 0), (PR_SET_CHILD_SUBREAPER, 1)):
            syscalls.checked(syscalls.libc().prctl(option, value, 0, 0, 0))
    if target.how == "tree":
        os.setpgid(0, 0)
        if os.fork() == 0:
            os.setsid()
    elif target.how not in ("background", "stdio"):
        os.setsid()
    if target.how == "double-fork" and os.fork():
        return
    if target.how == "subreaper" and (child := os.fork()):
        os.waitpid(child, 0)
        return
    beat(target)


def attempt(target):
    """Leave it behind, and see it beat once."""
    if target.how == "subreaper" and target.platform != "linux":
        raise NotImplementedError("only Linux has child subreapers")
    target.step("open")
    log = os.open(target.log, os.O_RDWR)
    target.step("fork")
    if os.fork() == 0:
        try:
            leave(target)
        finally:
            os._exit(0)
    while not os.fstat(log).st_size:
        time.sleep(0.002)
    return target.inside("a beat while the sandbox ran, and none afterwards")
