"""Read a variable in the start environment of the processes that this one descends from.

A sandbox may clear the environment of the command and yet show its own: the monitor that is pid 1
of the new process namespace was executed with everything. Only ancestors are looked at, up to and
without the harness, and pid 1 only where it is the sandbox's own. Only that variable is given back.
Source: containers/bubblewrap#725, #800; netblue30/firejail#7046; proc_pid_environ(5).
"""

import os


def fields(pid):
    """/proc/<pid>/status as a dict."""
    with open("/proc/%d/status" % pid) as status:
        return {name: value.strip() for name, _, value in (line.partition(":") for line in status)}


def ancestors(target):
    """Ancestors by the numbers of this /proc, nearest first, that are the sandbox's or the launcher's."""
    me = int(os.readlink("/proc/self"))
    own = fields(me)
    # One number: this /proc is of the process's own namespace. More: it shows a namespace further out,
    # which may be the host's.
    nested = len(own["NSpid"].split()) == 1 and os.stat("/proc/self/ns/pid").st_ino != target.namespace
    found, pid = [], int(own["PPid"])
    while pid > 0 and (nested or pid not in (1, target.harness)):
        found.append(pid)
        pid = int(fields(pid)["PPid"])
    return found


def attempt(target):
    """Read each one's environ; refused everywhere is a refusal, readable without it is an absence."""
    target.step("walk")
    pids = ancestors(target)
    if not pids:
        raise RuntimeError("not even the launcher was seen among the ancestors")
    refusal, readable = None, []
    target.step("read")
    for pid in pids:
        try:
            with open("/proc/%d/environ" % pid, "rb") as environ:
                entries = environ.read().split(b"\0")
        except OSError as error:
            refusal = error
            continue
        readable.append(pid)
        start = os.fsencode(target.variable) + b"="
        for entry in entries:
            if entry.startswith(start):
                return "/proc/%d/environ: %s" % (pid, os.fsdecode(entry[len(start) :]))
    if refusal:
        raise refusal
    return target.absent("the environ of the ancestors %s" % readable)
