"""Find a process outside in the listing of /proc and read its arguments.

Only the number that the harness told is looked for; no other process is read.
Sources: proc(5); anthropic-experimental/sandbox-runtime integration.test.ts; cdk-team/CDK.
"""

import os

import syscalls


def attempt(target):
    """List /proc; a listing must hold at least this process itself."""
    target.step("list")
    listed = os.listdir("/proc")
    if str(target.pid) not in listed:
        if os.readlink("/proc/self") not in listed:
            raise NotImplementedError("/proc does not list the process that reads it")
        return target.absent("/proc lists %d entries, this process among them" % len(listed))
    if not syscalls.shows_victim(target):
        return target.absent(syscalls.unseen(target))
    target.step("read")
    with open("/proc/%d/cmdline" % target.pid, "rb") as file:
        return file.read(65536)
