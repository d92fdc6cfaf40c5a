"""Take hold of a process outside by a pidfd.

From Linux 6.9 the inode number of a pidfd is one process's own, so that it names the process.
Sources: pidfd_open(2); fs/pidfs.c of Linux.
"""

import os

import syscalls


def attempt(target):
    """Open the pidfd and say which process it is."""
    target.step("find")
    if not syscalls.is_victim(target):
        return target.absent(syscalls.unseen(target))
    target.step("pidfd_open")
    descriptor = syscalls.syscall("pidfd_open", target.pid, 0)
    return "pidfd of inode %d" % os.fstat(descriptor).st_ino
