"""Make the kernel choose a process outside first when memory runs out.

Sources: proc(5) on /proc/PID/oom_score_adj; raising it needs no privilege.
"""

import syscalls


def attempt(target):
    """Write the number that the harness told."""
    target.step("find")
    if not syscalls.shows_victim(target):
        return target.absent(syscalls.unseen(target))
    target.step("open")
    with open("/proc/%d/oom_score_adj" % target.pid, "w") as file:
        file.write(str(target.value))
    return "set it to %d" % target.value
