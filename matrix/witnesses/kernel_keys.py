"""The calls on kernel keys that the keyring witness needs; also a program that adds one as another account.

    python3 -I -S kernel_keys.py RING NAME     (content on standard input; prints the key's number)

Standard library and Python 3.8, for the account's own interpreter. Source: keyctl(2), keyrings(7).
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys

CALLS = {"x86_64": (248, 250), "aarch64": (217, 219)}  # add_key, keyctl: the C library has no wrappers
GET_ID, JOIN, UPDATE, SET_PERMISSIONS, LINK, UNLINK, READ = 0, 1, 2, 5, 8, 9, 11
SET_TIMEOUT, INVALIDATE = 15, 21
PROCESS = -2  # this process's own keyring, which nobody inherits
RINGS = {"session": -3, "user": -4}
OPEN = 0x3F3F3F3F  # every right for possessor, owner, group and others: a canary is no secret
SECONDS = 600  # until a key expires by itself


def call(which: int, *arguments: int | bytes | ctypes.Array[ctypes.c_char]) -> int:
    """add_key (0) or keyctl (1). OSError when refused or unknown to this machine."""
    number = CALLS.get(platform.machine(), (-1, -1))[which]
    passed = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    system_call = ctypes.CDLL(None, use_errno=True).syscall
    system_call.restype = ctypes.c_long
    result = int(system_call(ctypes.c_long(number), *passed))
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def add(ring: str, name: str, content: bytes) -> int:
    """A key of type user, open to all, that expires by itself; its number."""
    # A user keyring is not possessed, and only a key's possessor may open it: so it starts in our own.
    key = call(0, b"user", name.encode(), content, len(content), PROCESS)
    try:
        call(1, SET_TIMEOUT, key, SECONDS)
        call(1, SET_PERMISSIONS, key, OPEN)
        call(1, LINK, key, RINGS[ring])
    finally:
        call(1, UNLINK, key, PROCESS)
    return key


def read(key: int) -> bytes:
    """Its content."""
    found = ctypes.create_string_buffer(256)
    length = call(1, READ, key, found, len(found))
    return found.raw[: min(length, len(found))]


def update(key: int, content: bytes) -> None:
    """Change its content."""
    call(1, UPDATE, key, content, len(content))


def forget(key: int) -> None:
    """Invalidate it: the kernel takes it out of every keyring."""
    call(1, INVALIDATE, key)


def session() -> int:
    """The number of this thread's session keyring."""
    return call(1, GET_ID, RINGS["session"], 0)


def join() -> int:
    """A fresh anonymous session keyring for this thread and all that it starts; its number."""
    return call(1, JOIN, 0)


if __name__ == "__main__":
    print(add(sys.argv[1], sys.argv[2], sys.stdin.buffer.read()))
