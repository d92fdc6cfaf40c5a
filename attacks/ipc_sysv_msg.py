"""Take a message from, or put one into, a System V message queue from outside, by its key.

Sources: msgget(2), msgop(2) of Linux and macOS; ipc_namespaces(7).
"""

import ctypes

import syscalls

IPC_NOWAIT = 0o4000  # the same on Linux and macOS
SIZE = 256


class Message(ctypes.Structure):
    """A message: its kind, which is above zero, and its text."""

    _fields_ = [("kind", ctypes.c_long), ("text", ctypes.c_char * SIZE)]


def attempt(target):
    """Find the queue, then receive without waiting, or send the token."""
    libc = syscalls.libc()
    libc.msgrcv.restype = ctypes.c_ssize_t
    target.step("msgget")
    queue = syscalls.checked(libc.msgget(target.key, 0))
    if target.write:
        target.step("msgsnd")
        message = Message(1, target.token.encode())
        size = ctypes.c_size_t(len(target.token))
        syscalls.checked(libc.msgsnd(queue, ctypes.byref(message), size, IPC_NOWAIT))
        return "sent the token"
    target.step("msgrcv")
    message = Message()
    received = (queue, ctypes.byref(message), ctypes.c_size_t(SIZE), ctypes.c_long(0), IPC_NOWAIT)
    syscalls.checked(libc.msgrcv(*received))
    return message.text
