"""The devices that bwrap shows are the host's own files: who owns /dev/null could close it to everybody.

The account 0 owns them, and stays that account inside, though without a capability. For it they are mounted
read-only first, in a mount namespace of this process alone: what is read and written goes through, a change
of the mode does not. bwrap cannot say that by itself, as its read-only mounts have no devices.
Sources: mount(2) MS_RDONLY, chmod(2) EROFS, proc(5) /proc/[pid]/fd.
"""

from __future__ import annotations

import ctypes
import os
import stat

from guards import Declined

NAMES = ("null", "zero", "full", "random", "urandom", "tty")
CLONE_NEWNS = 0x00020000
MS_RDONLY, MS_NOSUID, MS_NOEXEC, MS_REMOUNT, MS_BIND = 1, 2, 8, 32, 4096
MS_REC, MS_SLAVE = 16384, 1 << 19


def keep() -> None:
    """Make sure that nobody inside owns a device that can be changed. Raises Declined where it cannot be."""
    paths = ["/dev/" + name for name in NAMES]
    if all(os.stat(path).st_uid != os.geteuid() for path in paths):
        return
    libc = ctypes.CDLL(None, use_errno=True)
    done(libc.unshare(CLONE_NEWNS))
    done(libc.mount(None, b"/", None, MS_REC | MS_SLAVE, None))
    for path in map(os.fsencode, paths):
        done(libc.mount(path, path, None, MS_BIND, None))
        flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC
        done(libc.mount(None, path, None, flags, None))
    reopen({os.stat(path).st_rdev: path for path in paths})


def done(result: int) -> None:
    """A system call's result. Raises Declined where it is refused."""
    if result:
        why = os.strerror(ctypes.get_errno())
        what = (
            "account %d owns the host's devices, and they cannot be made read-only here: %s; run as another"
        )
        raise Declined(what % (os.geteuid(), why))


def reopen(paths: dict[int, str]) -> None:
    """Open anew what stands for one of the standard three: through an older one the old mount is reached."""
    for descriptor in (0, 1, 2):
        status = os.fstat(descriptor)
        if stat.S_ISCHR(status.st_mode) and status.st_rdev in paths:
            own = os.open(paths[status.st_rdev], os.O_RDWR)
            os.dup2(own, descriptor)
            os.close(own)
