"""Take an exclusive lock on an outside file that may only be read, and stop whoever waits for it.

flock() needs no more than a descriptor opened for reading. The lock is kept until the harness has
noticed it (it answers with a file in the workspace), for as long as it says at most.
Source: man 2 flock; Kilo-Org/kilocode#11596 (metadata operations).
"""

import fcntl
import os
import time


def attempt(target):
    """Open for reading, lock, and wait to be noticed; unnoticed, see whether the lock holds here.

    The twin is told not to wait: that its lock holds here is all it has to show.
    """
    target.step("open")
    descriptor = os.open(target.path, os.O_RDONLY)
    target.step("flock")
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    end = time.monotonic() + target.wait
    while time.monotonic() < end:
        if os.path.exists(target.noticed):
            return "noticed"
        time.sleep(0.005)
    again = os.open(target.path, os.O_RDONLY)
    try:
        fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return target.inside("the lock is on a file of this side")
    return "the lock does not hold"
