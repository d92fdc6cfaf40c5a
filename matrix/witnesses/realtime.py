"""POSIX shared memory and message queues by their C calls, which older systems keep in a library apart."""

from __future__ import annotations

import ctypes
import os


def library() -> ctypes.CDLL:
    """The library that has shm_open and, on Linux, mq_open: the C library itself from glibc 2.34."""
    libc = ctypes.CDLL(None, use_errno=True)
    return libc if hasattr(libc, "shm_open") else ctypes.CDLL("librt.so.1", use_errno=True)


def checked(result: int) -> int:
    """The result, or the OSError that its -1 stands for."""
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def open_memory(name: str, flags: int) -> int:
    """A descriptor of the shared memory object of that name. OSError."""
    call = library().shm_open
    call.argtypes = [ctypes.c_char_p, ctypes.c_int]  # what follows is variadic
    return checked(call(name.encode(), flags, ctypes.c_uint(0o666)))


def forget_memory(name: str) -> None:
    """Take its name away. OSError."""
    checked(library().shm_unlink(name.encode()))


def forget_queue(name: str) -> None:
    """Take a message queue's name away. OSError."""
    checked(library().mq_unlink(name.encode()))
