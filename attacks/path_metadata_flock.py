"""Take an exclusive lock on an outside file that may only be read, and stop whoever waits for it.

flock() needs no more than a descriptor opened for reading. The lock is kept until the harness has
looked at its own side of the file; after that, a second lock shows whether the first one holds here.
Source: man 2 flock; Kilo-Org/kilocode#11596 (metadata operations).
"""

import fcntl
import os


def attempt(target):
    """Open for reading, lock, let the harness look, and try once more from a second descriptor."""
    target.step("open")
    descriptor = os.open(target.path, os.O_RDONLY)
    target.step("flock")
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    target.meet()
    again = os.open(target.path, os.O_RDONLY)
    try:
        fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return target.inside("the file is locked here")
    return "the lock does not hold"
