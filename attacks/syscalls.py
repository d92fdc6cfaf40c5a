"""The system-call table: numbers, constants and one way to make a raw call.

Numbers from the kernel's arch tables (x86_64, aarch64; 424 and above are the same on both) and,
for macOS, from xnu's bsd/sys headers. Everything goes through `libc()`, which tests replace.
"""

import ctypes
import fcntl
import os
import platform
import resource
import struct

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
        raise NotImplementedError("no number for %s on %s" % (name, machine or platform.machine())) from None


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


def ioctl(descriptor, request, argument=0):
    """ioctl with an integer or a ctypes reference; the result, or OSError on -1."""
    call = libc().ioctl
    call.argtypes = [ctypes.c_int, ctypes.c_ulong]  # what follows is variadic: Apple's arm64 passes it apart
    return checked(call(descriptor, request, argument))


def is_down(asking, interface):
    """Whether an interface of this network namespace is down, asked through any open socket (Linux).

    The host's loopback is up, as its listeners there were reached: where it is down, the network is
    another one. OSError where it cannot be asked. Source: netdevice(7), SIOCGIFFLAGS 0x8913, IFF_UP 1.
    """
    request = struct.pack("16sH14x", interface.encode(), 0)
    (flags,) = struct.unpack_from("16xH", fcntl.ioctl(asking, 0x8913, request))
    return not flags & 1


def inherited(first=3, last=8191):
    """(number, os.stat_result) of every open file that is none of the standard three.

    Every number up to `last` is tried, without /proc; above it, those that /dev/fd lists.
    The in-sandbox launcher keeps a copy of its standard output, so a look that works sees at least that.
    """
    mine, found, own = set(), [], 0
    for number in (0, 1, 2):
        try:
            is_ = os.fstat(number)
        except OSError:
            continue
        mine.add((is_.st_dev, is_.st_ino))
    try:
        above = sorted(number for number in map(int, os.listdir("/dev/fd")) if number > last)
    except (OSError, ValueError):
        above = []
    for number in [*range(first, last + 1), *above]:
        try:
            is_ = os.fstat(number)
        except OSError:
            continue
        if (is_.st_dev, is_.st_ino) in mine:
            own += 1
        else:
            found.append((number, is_))
    if not own:
        raise RuntimeError("not even the launcher's own copy of its output was seen")
    return found


# The one process outside that the harness told. A sandbox with a pid namespace may have another
# process under the same number, so nobody is touched before it is known to be the victim.

RLIMIT_RSS, RLIMIT_LOCKS = 5, 10  # neither has had any effect since Linux 2.4


def is_victim(target):
    """Whether `pid` means the harness's victim in this process's pid namespace.

    False: nobody has the number, or somebody else, who is left alone. The victim is known by the
    marker among its arguments or, where /proc does not say, by a limit that only it has.
    NotImplementedError where neither can be read.
    """
    try:
        os.getpgid(target.pid)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # refused by a filter, which says nothing of the number
    if target.platform == "darwin":
        return True  # there is one pid namespace for all
    try:
        if os.readlink("/proc/self") == str(os.getpid()):  # else this /proc speaks of other numbers
            with open("/proc/%d/cmdline" % target.pid, "rb") as file:
                return target.marker.encode() in file.read(65536)
    except OSError:
        pass
    try:
        return resource.prlimit(target.pid, RLIMIT_RSS)[0] == target.limit
    except ProcessLookupError:
        return False
    except (AttributeError, OSError) as error:
        why = "who is process %d? No /proc of ours, and %s" % (target.pid, error)
        raise NotImplementedError(why) from None


def shows_victim(target):
    """Whether /proc shows the victim under its number. False where it shows oneself and not the victim."""
    try:
        with open("/proc/%d/cmdline" % target.pid, "rb") as file:
            return target.marker.encode() in file.read(65536)
    except (FileNotFoundError, ProcessLookupError):
        os.stat("/proc/self/stat")  # without a /proc nothing was looked at
        return False


def unseen(target):
    """Where the victim was looked for, for target.absent()."""
    return "process %d is not the victim here, as seen by process %d" % (target.pid, os.getpid())


def buffer(content):
    """Memory of one's own with this content, for calls that take an address."""
    return ctypes.create_string_buffer(content, len(content))
