"""Mount a fresh procfs of this pid namespace and look for a process outside in it.

A sandbox may mask or leave out /proc; with the right to mount, a new one shows everything again.
The mount stays in a mount namespace of this attempt's own and ends with it. Without CAP_SYS_ADMIN
a user namespace is tried, in which a procfs of somebody else's pid namespace is refused.
Sources: mount_namespaces(7); CVE-2021-41133; cdk-team/CDK mount_procfs.go.
"""

import errno
import os

import syscalls

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
FSCONFIG_CMD_CREATE = 6


def attempt(target):
    """Unshare, mount, look for the number that the harness told."""
    target.step("unshare")
    _unshare()
    fresh = _fsopen(target) if target.how == "fsopen" else _mount(target)
    target.step("find")
    try:
        arguments = os.read(os.open("%d/cmdline" % target.pid, os.O_RDONLY, dir_fd=fresh), 65536)
    except FileNotFoundError:
        arguments = b""
    if target.marker.encode() in arguments:
        return arguments
    os.stat("self/stat", dir_fd=fresh)  # must see at least itself
    return target.absent(
        "the fresh procfs shows process %d, and not the victim as %d" % (os.getpid(), target.pid)
    )


def _unshare():
    """A mount namespace; where a user namespace around it is beyond the limit, the first refusal counts."""
    try:
        syscalls.checked(syscalls.libc().unshare(CLONE_NEWNS))
    except PermissionError as refused:
        try:
            syscalls.checked(syscalls.libc().unshare(CLONE_NEWUSER | CLONE_NEWNS))
        except OSError as error:
            raise refused if error.errno == errno.ENOSPC else error from None


def _mount(target):
    """By mount(2), over /proc where there is one; made private first, or it would be seen outside."""
    call = syscalls.libc().mount
    target.step("private")
    syscalls.checked(call(b"none", b"/", None, MS_REC | MS_PRIVATE, None))
    target.step("mount")
    where = "/proc" if os.path.isdir("/proc") else os.path.dirname(os.path.abspath(__file__))
    syscalls.checked(call(b"proc", where.encode(), b"proc", 0, None))
    return os.open(where, os.O_RDONLY | os.O_DIRECTORY)


def _fsopen(target):
    """By fsopen(2) and fsmount(2), which put it nowhere in the tree."""
    target.step("fsopen")
    context = syscalls.syscall("fsopen", syscalls.buffer(b"proc\0"), 0)
    syscalls.syscall("fsconfig", context, FSCONFIG_CMD_CREATE, 0, 0, 0)
    target.step("fsmount")
    return syscalls.syscall("fsmount", context, 0, 0)
