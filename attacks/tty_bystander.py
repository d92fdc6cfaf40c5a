"""Act on another pseudo-terminal of the same account, which the harness tells by its path.

"write" puts text on its screen; "input" makes it the controlling terminal of a new session and
pushes bytes into its input queue. The number of a pseudo-terminal means another one in a device
file system of the sandbox's own, so the harness tells the device too.
Source: CVE-2025-52565 (runc, /dev/pts); ioctl_tty(2); anthropic-experimental/sandbox-runtime allowPty.
"""

import ctypes
import os

import syscalls

REQUESTS = {"linux": (0x540E, 0x5412), "darwin": (0x20007461, 0x80017472)}  # TIOCSCTTY, TIOCSTI


def push(target, descriptor):
    """In a child: lead a session, take the terminal, push. The exit code is the errno."""
    control, request = REQUESTS[target.platform]
    os.setsid()
    try:
        syscalls.ioctl(descriptor, control, 0)
        for byte in target.token.encode() + b"\n":
            syscalls.ioctl(descriptor, request, ctypes.byref(ctypes.c_char(byte)))
    except OSError as error:
        return error.errno
    return 0


def attempt(target):
    """Open it and act; a terminal that is not there, or is another one, is the sandbox's answer."""
    target.step("open")
    descriptor = os.open(target.path, os.O_RDWR | os.O_NOCTTY)
    if os.fstat(descriptor).st_dev != target.device:
        return target.absent("%s lies in another device file system" % target.path)
    if target.act == "write":
        target.step("write")
        os.write(descriptor, target.token.encode() + b"\n")
        return "written"
    target.step("ioctl")
    child = os.fork()
    if child == 0:
        os._exit(push(target, descriptor))
    code = os.WEXITSTATUS(os.waitpid(child, 0)[1])
    if code:
        raise OSError(code, os.strerror(code))
    return "pushed"
