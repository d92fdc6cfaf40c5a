"""Open a POSIX shared memory object from outside, by its name.

Linux keeps them in /dev/shm, macOS in a table of the kernel that a Seatbelt profile may leave open.
Sources: shm_open(3) of Linux and macOS; anthropic-experimental/sandbox-runtime (ipc-posix-shm).
"""

import ctypes
import mmap
import os

import syscalls


def attempt(target):
    """Open, map, then read the object or write the token into it."""
    libc = syscalls.libc()
    if not hasattr(libc, "shm_open"):  # before glibc 2.34
        libc = ctypes.CDLL("librt.so.1", use_errno=True)
    target.step("shm_open")
    flags = os.O_RDWR if target.write else os.O_RDONLY
    descriptor = syscalls.checked(libc.shm_open(target.name.encode(), flags))
    target.step("mmap")
    access = mmap.ACCESS_WRITE if target.write else mmap.ACCESS_READ
    with mmap.mmap(descriptor, target.size, access=access) as memory:
        if not target.write:
            return memory[: target.size]
        memory[: len(target.token)] = target.token.encode()
    return "wrote the token"
