"""The system calls that the sandbox refuses, as two filters for `bwrap --add-seccomp-fd`.

The first lets through the calls that libseccomp knows by name on this machine, and answers ENOSYS to all
others, so that a call of a later kernel is refused before anybody has looked at it; a program of another
architecture (i386, x32, 32-bit ARM) is ended by SIGSYS at its first call. The second refuses single calls
and arguments. Of two answers the kernel takes the stricter one: seccomp(2). Sources: the pages of the
single calls in section 2, ioctl_tty(2), CVE-2019-10063 for the upper half of a request.
"""

from __future__ import annotations

import errno
import functools
import os
import resource
from collections.abc import Iterable

import pyseccomp as libseccomp  # pyright: ignore[reportMissingTypeStubs]

FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10}
"""What a socket may be made of. getaddrinfo(3) does without AF_NETLINK where it is refused."""

REFUSED = (
    # the caller's keys, which no namespace parts from it
    *("add_key", "keyctl", "request_key"),
    # calls made behind the back of this filter
    *("io_uring_enter", "io_uring_register", "io_uring_setup"),
    # other processes
    *("kcmp", "pidfd_getfd", "process_madvise", "process_vm_readv", "process_vm_writev", "ptrace"),
    # mounts and other views of the file system
    *("chroot", "fsconfig", "fsmount", "fsopen", "fspick", "mount", "mount_setattr", "move_mount"),
    *("open_by_handle_at", "open_tree", "pivot_root", "setns", "umount", "umount2"),
    # the kernel itself, and what it tells of the machine
    *("bpf", "create_module", "delete_module", "fanotify_init", "finit_module", "get_kernel_syms"),
    *("init_module", "kexec_file_load", "kexec_load", "lookup_dcookie", "nfsservctl", "perf_event_open"),
    *("query_module", "syslog", "userfaultfd", "_sysctl", "sysfs", "uselib", "ustat"),
    # the machine
    *("acct", "clock_settime", "ioperm", "iopl", "modify_ldt", "quotactl", "quotactl_fd", "reboot"),
    *("settimeofday", "stime", "swapoff", "swapon", "vhangup", "vm86", "vm86old"),
)
"""Answered with EPERM, whatever the arguments. Names that this machine does not have are passed over."""

REQUESTS = {"TIOCSTI": 0x5412, "TIOCLINUX": 0x541C, "TIOCSETD": 0x5423}
"""Requests of ioctl(2) that are refused: keys pressed for somebody else, the console, line disciplines."""

NAMESPACES = {
    "CLONE_NEWTIME": 0x00000080,
    "CLONE_NEWNS": 0x00020000,
    "CLONE_NEWCGROUP": 0x02000000,
    "CLONE_NEWUTS": 0x04000000,
    "CLONE_NEWIPC": 0x08000000,
    "CLONE_NEWUSER": 0x10000000,
    "CLONE_NEWPID": 0x20000000,
    "CLONE_NEWNET": 0x40000000,
}

BITS = {"S_ISUID": 0o4000, "S_ISGID": 0o2000}
"""Bits of a file's mode that nothing inside may set: what is left in the workspace would run as its owner."""

CHMODS = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "creat": 1, "mknod": 1, "mknodat": 2}
"""Calls that set a mode → which argument it is."""

OPENS = {"open": 1, "openat": 2}
"""Calls that set a mode, the argument after this one, where these flags ask for a new file."""

LIMITS = {"setrlimit": 0, "prlimit64": 1}
"""Calls that set a limit → which argument says what is limited; a pointer to the limit follows."""

_CREATING = (os.O_CREAT, os.O_TMPFILE & ~os.O_DIRECTORY)
_IN_MEMORY = ("clone3", "openat2")  # their flags cannot be looked at; a libc falls back to the older call
_LAST_FAMILY = 45  # AF_MCTP, Linux 6.18; a number above it is refused whatever it stands for
_LAST_CALL = 1024  # above every number of today's tables
_LOW_HALF = 0xFFFFFFFF
_CLONE_NEWTIME = 0x80  # in clone(2) this bit is part of the signal's number
_CORE = resource.RLIMIT_CORE
_OPTIMIZE = 2  # a tree of comparisons in place of a list, seccomp_attr_set(3)


@functools.cache
def programs() -> tuple[bytes, ...]:
    """The compiled filters. Raises OSError where libseccomp cannot make them for this machine."""
    return tuple(_exported(made) for made in (known(), refusals()))


def known() -> libseccomp.SyscallFilter:
    """Only calls that have a name here."""
    made = libseccomp.SyscallFilter(libseccomp.ERRNO(errno.ENOSYS))
    made.set_attr(libseccomp.Attr.ACT_BADARCH, libseccomp.KILL_PROCESS)
    made.set_attr(libseccomp.Attr.CTL_OPTIMIZE, _OPTIMIZE)
    for number in range(_LAST_CALL):
        try:
            libseccomp.resolve_syscall(libseccomp.Arch.NATIVE, number)
        except ValueError:
            continue
        made.add_rule(libseccomp.ALLOW, number)
    return made


def refusals() -> libseccomp.SyscallFilter:
    """All calls but those that are refused."""
    made = libseccomp.SyscallFilter(libseccomp.ALLOW)
    made.set_attr(libseccomp.Attr.ACT_BADARCH, libseccomp.KILL_PROCESS)
    no = libseccomp.ERRNO(errno.EPERM)
    for name in _here(REFUSED):
        made.add_rule(no, name)
    for name in _here(_IN_MEMORY):
        made.add_rule(libseccomp.ERRNO(errno.ENOSYS), name)
    for call in ("socket", "socketpair"):
        made.add_rule(no, call, libseccomp.Arg(0, libseccomp.GT, _LAST_FAMILY))  # with any upper half too
        for family in sorted({*range(_LAST_FAMILY + 1)} - {*FAMILIES.values()}):
            made.add_rule(no, call, libseccomp.Arg(0, libseccomp.EQ, family))
    for request in REQUESTS.values():
        made.add_rule(no, "ioctl", libseccomp.Arg(1, libseccomp.MASKED_EQ, _LOW_HALF, request))
    _keep_modes(made, no)
    _keep_cores_off(made)
    for flag in NAMESPACES.values():
        made.add_rule(no, "unshare", libseccomp.Arg(0, libseccomp.MASKED_EQ, flag, flag))
        if flag != _CLONE_NEWTIME:
            made.add_rule(no, "clone", libseccomp.Arg(0, libseccomp.MASKED_EQ, flag, flag))
    return made


def _keep_modes(made: libseccomp.SyscallFilter, no: int) -> None:
    for bit in BITS.values():
        for name in _here(CHMODS):
            made.add_rule(no, name, libseccomp.Arg(CHMODS[name], libseccomp.MASKED_EQ, bit, bit))
        for name in _here(OPENS):
            mode = libseccomp.Arg(OPENS[name] + 1, libseccomp.MASKED_EQ, bit, bit)
            for flag in _CREATING:
                made.add_rule(no, name, libseccomp.Arg(OPENS[name], libseccomp.MASKED_EQ, flag, flag), mode)


def _keep_cores_off(made: libseccomp.SyscallFilter) -> None:
    """The limit of core files stays as launcher/cores.py has set it: at 0 the host's handler would run.

    The answer is that it is done: who asks for it (gpg, ssh-agent) has what it wants, and would stop at a no.
    """
    for name, first in LIMITS.items():
        limited = libseccomp.Arg(first, libseccomp.MASKED_EQ, _LOW_HALF, _CORE)
        made.add_rule(libseccomp.ERRNO(0), name, limited, libseccomp.Arg(first + 1, libseccomp.NE, 0))


def _here(names: Iterable[str]) -> list[str]:
    """Those that libseccomp knows and this machine has."""
    return [name for name in names if libseccomp.resolve_syscall(libseccomp.Arch.NATIVE, name) >= 0]


def _exported(made: libseccomp.SyscallFilter) -> bytes:
    with os.fdopen(os.memfd_create("filter"), "w+b") as file:
        made.export_bpf(file)
        file.seek(0)
        return file.read()
