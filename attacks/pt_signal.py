"""Send SIGUSR1, which does it no harm, to a process outside.

One call per row: kill, a process group, one thread, a queued value, a pidfd. macOS has the first two.
Sources: kill(2), tgkill(2), rt_sigqueueinfo(2), pidfd_send_signal(2); nolabs-ai/nono#207.
"""

import os
import signal
import struct

import syscalls

SI_QUEUE = -1


def attempt(target):
    """Send it by the row's call; the victim reports what it received."""
    number = int(signal.SIGUSR1)
    target.step("find")
    if not syscalls.is_victim(target):
        return target.absent(syscalls.unseen(target))
    process = 0
    if target.call == "pidfd_send_signal":
        target.step("pidfd_open")
        process = syscalls.syscall("pidfd_open", target.pid, 0)
    target.step(target.call)
    if target.call == "kill":
        os.kill(target.pid, number)
    elif target.call == "killpg":
        os.killpg(target.pid, number)  # the victim leads a group of which it is the only member
    elif target.call == "tgkill":
        syscalls.syscall("tgkill", target.pid, target.pid, number)
    elif target.call == "rt_sigqueueinfo":
        information = struct.pack("3i4xIIi", number, 0, SI_QUEUE, os.getpid(), os.getuid(), target.value)
        information = syscalls.buffer(information.ljust(128, b"\0"))
        syscalls.syscall("rt_sigqueueinfo", target.pid, number, information)
    else:
        syscalls.syscall("pidfd_send_signal", process, number, 0, 0)
    return "sent SIGUSR1"
