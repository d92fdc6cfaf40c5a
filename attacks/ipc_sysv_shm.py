"""Attach a System V shared memory segment from outside, by its key.

Sources: shmget(2), shmop(2) of Linux and macOS; ipc_namespaces(7); containers/bubblewrap --unshare-ipc.
"""

import ctypes

import syscalls


def attempt(target):
    """Find, attach, then read the segment or write the token into it."""
    libc = syscalls.libc()
    libc.shmat.restype = ctypes.c_void_p
    target.step("shmget")
    segment = syscalls.checked(libc.shmget(target.key, ctypes.c_size_t(0), 0))
    target.step("shmat")
    address = libc.shmat(segment, None, 0)
    if address == ctypes.c_void_p(-1).value:
        syscalls.checked(-1)
    try:
        if not target.write:
            return ctypes.string_at(address, target.size)
        ctypes.memmove(address, target.token.encode(), len(target.token))
        return "wrote the token"
    finally:
        libc.shmdt(ctypes.c_void_p(address))
