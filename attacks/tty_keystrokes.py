"""Leave a process behind that goes on reading the terminal, and takes what is typed after the run.

It writes what it got into a file of the workspace, and ends by itself within four seconds.
Source: multikernel/sandlock#251 (survivors on the caller's terminal); credentials(7).
"""

import os
import select
import signal
import time

PATIENCE = 4.0  # seconds


def listen(log):
    """In the process that stays: say that it is there, then keep every byte."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.setsid()
    os.write(log, b"listening\n")
    os.closerange(1, log)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and os.fstat(log).st_nlink:
        if select.select([0], [], [], 0.05)[0]:
            got = os.read(0, 4096)
            if not got:
                return
            os.write(log, got)


def attempt(target):
    """Leave it behind; a descriptor 0 that is no terminal is the sandbox's answer."""
    target.step("open")
    log = os.open(target.log, os.O_RDWR | os.O_APPEND)
    target.step("size")
    os.get_terminal_size(0)
    target.step("fork")
    if os.fork() == 0:
        try:
            os.closerange(log + 1, 1024)
            listen(log)
        finally:
            os._exit(0)
    while not os.fstat(log).st_size:
        time.sleep(0.002)
    return target.inside("a process listened while the sandbox ran, and got nothing afterwards")
