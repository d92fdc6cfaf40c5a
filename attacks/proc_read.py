"""Read the environment, arguments or memory map of a process outside that has the same account.

Linux: /proc/PID/environ and maps ask for ptrace read access, which yama's ptrace_scope does not
restrict; cmdline asks for nothing but a /proc that shows the process. macOS: the numeric sysctl
KERN_PROCARGS2, which gives arguments and environment in one, but not those of platform binaries.
Sources: proc(5); Certora/AutoProver#73; inflexa-ai/inflexa#88; xnu bsd/kern/kern_sysctl.c;
nolabs-ai/nono#1821.
"""

import ctypes

import syscalls

CTL_KERN, KERN_PROCARGS2 = 1, 49


def attempt(target):
    """Read the entry of the process that the harness told; what counts is the canary in it."""
    target.step("find")
    if target.platform == "darwin":
        return _procargs(target)
    if not syscalls.shows_victim(target):
        return target.absent(syscalls.unseen(target))
    target.step("read")
    with open("/proc/%d/%s" % (target.pid, target.entry), "rb") as file:
        return file.read(65536)


def _procargs(target):
    """Arguments and environment of a process, as the kernel keeps them."""
    name = (ctypes.c_int * 3)(CTL_KERN, KERN_PROCARGS2, target.pid)
    found = ctypes.create_string_buffer(65536)
    size = ctypes.c_size_t(len(found))
    target.step("read")
    syscalls.checked(syscalls.libc().sysctl(name, 3, found, ctypes.byref(size), None, ctypes.c_size_t(0)))
    return found.raw[: size.value]
