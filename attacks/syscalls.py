"""The system-call table: numbers, constants and one way to make a raw call.

Numbers from the kernel's arch tables (x86_64, aarch64; 424 and above are the same on both) and,
for macOS, from xnu's bsd/sys headers. Everything goes through `libc()`, which tests replace.
"""

import ctypes
import os
import platform

NUMBERS = {
    "x86_64": {
        "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "renameat2": 316,
        "unshare": 272, "setns": 308, "add_key": 248, "request_key": 249, "keyctl": 250, "ioctl": 16,
        "shmget": 29, "shmat": 30, "shmctl": 31, "shmdt": 67, "msgget": 68, "msgsnd": 69, "msgrcv": 70,
        "msgctl": 71, "semget": 64, "semctl": 66, "mq_open": 240, "mq_unlink": 241, "mq_timedsend": 242,
        "mq_timedreceive": 243, "prlimit64": 302, "rt_sigqueueinfo": 129, "tgkill": 234, "mount": 165,
    },
    "aarch64": {
        "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "renameat2": 276,
        "unshare": 97, "setns": 268, "add_key": 217, "request_key": 218, "keyctl": 219, "ioctl": 29,
        "shmget": 194, "shmat": 196, "shmctl": 195, "shmdt": 197, "msgget": 186, "msgsnd": 189,
        "msgrcv": 188, "msgctl": 187, "semget": 190, "semctl": 191, "mq_open": 180, "mq_unlink": 181,
        "mq_timedsend": 182, "mq_timedreceive": 183, "prlimit64": 261, "rt_sigqueueinfo": 138,
        "tgkill": 131, "mount": 40,
    },
}  # fmt: skip
COMMON = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432,
    "pidfd_open": 434, "openat2": 437, "pidfd_getfd": 438,
}  # fmt: skip


def libc():
    """The C library with errno kept; replaced in tests, so that each call and constant is seen."""
    return ctypes.CDLL(None, use_errno=True)


def number(name, machine=None):
    """The number of a Linux system call. NotImplementedError where this table does not know it."""
    table = NUMBERS.get(machine or platform.machine(), {})
    try:
        return COMMON[name] if name in COMMON else table[name]
    except KeyError:
        raise NotImplementedError(
            "no number for %s on %s" % (name, machine or platform.machine())) from None


def checked(result):
    """The result of a C call, or the OSError that its -1 stands for."""
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def syscall(name, *arguments):
    """Make a raw Linux system call; integers are passed as longs. OSError on -1."""
    call = libc().syscall
    call.restype = ctypes.c_long
    passed = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return checked(call(ctypes.c_long(number(name)), *passed))
