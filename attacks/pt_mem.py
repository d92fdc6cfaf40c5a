"""Read or write the memory of a process outside through /proc/PID/mem.

Sources: proc(5); sandstorm-io/sandstorm-website#254.
"""

import os

import syscalls


def attempt(target):
    """Open the memory as a file and go to the cell."""
    target.step("find")
    if not syscalls.shows_victim(target):
        return target.absent(syscalls.unseen(target))
    target.step("open")
    memory = os.open("/proc/%d/mem" % target.pid, os.O_RDWR if target.write else os.O_RDONLY)
    if not target.write:
        target.step("read")
        return os.pread(memory, target.size, target.address)
    target.step("write")
    os.pwrite(memory, target.token.encode().ljust(target.size, b"\0"), target.address)
    return "wrote the token"
