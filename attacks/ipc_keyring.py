"""Find a key of the caller's in a kernel keyring, and read or change it.

A process inherits its session keyring through every namespace; the user keyring belongs to the
account and to the user namespace. Only the key that the harness named is looked for.
Sources: keyctl(2), keyrings(7), session-keyring(7); flatpak/flatpak#299; moby/moby#10939.
"""

import ctypes

import syscalls

UPDATE, SEARCH, READ = 2, 10, 11
RINGS = {"session": -3, "user": -4}


def attempt(target):
    """Search the ring for the key, then read or update it."""
    target.step("search")
    name = syscalls.buffer(target.name.encode() + b"\0")
    kind = syscalls.buffer(b"user\0")
    key = syscalls.syscall("keyctl", SEARCH, RINGS[target.ring], kind, name, 0)
    if target.write:
        target.step("update")
        content = target.token.encode()
        syscalls.syscall("keyctl", UPDATE, key, syscalls.buffer(content), len(content), 0)
        return "updated the key"
    target.step("read")
    found = ctypes.create_string_buffer(256)
    length = syscalls.syscall("keyctl", READ, key, found, len(found), 0)
    return found.raw[: min(length, len(found))]
