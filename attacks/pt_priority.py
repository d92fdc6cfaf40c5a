"""Change how a process outside is scheduled and limited: its nice value, or a resource limit.

The limit is one that has no effect. Sources: setpriority(2) of Linux and macOS; prlimit(2).
"""

import os
import resource

import syscalls


def attempt(target):
    """Set the number that the harness told."""
    target.step("find")
    if not syscalls.is_victim(target):
        return target.absent(syscalls.unseen(target))
    target.step(target.call)
    if target.call == "setpriority":
        os.setpriority(os.PRIO_PROCESS, target.pid, target.value)
    else:
        hard = resource.prlimit(target.pid, syscalls.RLIMIT_LOCKS)[1]
        resource.prlimit(target.pid, syscalls.RLIMIT_LOCKS, (target.value, hard))
    return "set it to %d" % target.value
