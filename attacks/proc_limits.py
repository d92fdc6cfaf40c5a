"""Read the resource limits of a process outside by its number, without /proc.

Sources: prlimit(2); pid_namespaces(7).
"""

import resource

import syscalls


def attempt(target):
    """Read a limit that has no effect and holds a number that only the process itself knows."""
    target.step("find")
    if not syscalls.is_victim(target):
        return target.absent(syscalls.unseen(target))
    target.step("prlimit")
    return "%d %d" % resource.prlimit(target.pid, syscalls.RLIMIT_LOCKS)
