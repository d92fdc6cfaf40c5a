"""The host's handler of core files: a program that the kernel starts outside, about a command that crashed.

At a limit of 1 byte, and at that one alone, it is not started. The limit is set before there are filters, and
they keep the command from changing it. Sources: core(5), do_coredump() in the kernel's fs/coredump.c.
"""

from __future__ import annotations

import resource

from guards import Declined

PATTERN = "/proc/sys/kernel/core_pattern"
HANDLED = ("|", "@")  # handed to a program, to a socket; anything else is a file's name


def keep() -> None:
    """Set the limit. Raises Declined where it may not be raised to 1, and there is a handler."""
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (1, 1))
    except (OSError, ValueError) as error:
        with open(PATTERN) as file:
            if file.read().startswith(HANDLED):
                what = "the limit of core files is 0, and %s names a handler, which runs at 0: set it to 1"
                raise Declined(what % PATTERN) from error
