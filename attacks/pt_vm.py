"""Read or write the memory of a process outside without attaching to it.

Sources: process_vm_readv(2); am-i-isolated src/yama.rs.
"""

import ctypes

import syscalls


class IoVec(ctypes.Structure):
    """One piece of memory: struct iovec."""

    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def attempt(target):
    """One call for the whole cell."""
    target.step("find")
    if not syscalls.is_victim(target):
        return target.absent(syscalls.unseen(target))
    content = b"" if target.call == "process_vm_readv" else target.token.encode()
    own = syscalls.buffer(content.ljust(target.size, b"\0"))
    here = IoVec(ctypes.addressof(own), target.size)
    there = IoVec(target.address, target.size)
    target.step(target.call)
    syscalls.syscall(target.call, target.pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
    return own.raw if target.call == "process_vm_readv" else "wrote the token"
