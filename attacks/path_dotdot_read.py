"""Read a file outside the workspace by one spelling of its path.

The row says the route: the absolute path, one "..", a chain of ".." that is longer than any
directory is deep, or the magic link /proc/self/cwd. The canary is what the file holds, so only
a real read can give it back.
Source: CVE-2026-35570, Kilo-Org/kilocode#11596.
"""

import os


def spelled(route, path):
    """The path by that route, as seen from the working directory."""
    if route == "absolute":
        return path
    if route == "long":
        return "../" * 64 + path.lstrip("/")
    up = os.path.join("..", os.path.relpath(path, os.path.dirname(os.getcwd())))
    return {"relative": up, "proc-cwd": "/proc/self/cwd/" + up}[route]


def attempt(target):
    """Open for reading; an empty file stands for a mask that was laid over the real one."""
    target.step("spell")
    where = spelled(target.route, target.path)
    target.step("open")
    descriptor = os.open(where, os.O_RDONLY)
    target.step("read")
    data = os.read(descriptor, 4096)
    os.close(descriptor)
    return data or target.absent("the file at that path is empty")
