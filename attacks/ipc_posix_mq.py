"""Take a message from, or put one into, a POSIX message queue from outside, by its name.

The system calls need no mounted mqueue file system; the kernel takes the name without its slash.
Sources: mq_overview(7), mq_open(2); ipc_namespaces(7).
"""

import ctypes
import os

import syscalls

SIZE = 256  # of the queue's messages, as the harness made it


def attempt(target):
    """Open without waiting, then receive, or send the token."""
    flags = os.O_NONBLOCK | (os.O_WRONLY if target.write else os.O_RDONLY)
    target.step("mq_open")
    queue = syscalls.syscall("mq_open", syscalls.buffer(target.name[1:].encode() + b"\0"), flags, 0, 0)
    if target.write:
        target.step("mq_send")
        content = target.token.encode()
        syscalls.syscall("mq_timedsend", queue, syscalls.buffer(content), len(content), 1, 0)
        return "sent the token"
    target.step("mq_receive")
    message = ctypes.create_string_buffer(SIZE)
    length = syscalls.syscall("mq_timedreceive", queue, message, SIZE, 0, 0)
    return message.raw[:length]
