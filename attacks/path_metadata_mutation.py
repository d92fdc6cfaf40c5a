"""Change what stands beside a file's content: mode, owner, times, an attribute, size, by its path.

Nothing is opened for writing, so a policy that guards open() alone lets these through (Landlock
has no right for chmod, chown, utime or setxattr, and for truncate only since ABI 3).
Source: Linux Documentation/userspace-api/landlock.rst (current limitations), Kilo-Org/kilocode#11596.
"""

import ctypes
import os

import syscalls

ATTRIBUTE = "user.escape-matrix"
MODE = 0o640
TIME = 1000000000  # 2001-09-09, in seconds


def setxattr(target):
    """The token as an attribute's value, through libc on macOS, where Python has no call for it."""
    if target.platform != "darwin":
        os.setxattr(target.path, ATTRIBUTE, target.token.encode())
        return
    call = syscalls.libc().setxattr  # path, name, value, size, position, options
    value = target.token.encode()
    size = ctypes.c_size_t(len(value))
    syscalls.checked(call(target.path.encode(), ATTRIBUTE.encode(), value, size, 0, 0))


def has_attribute(target):
    """Whether the attribute holds the token when looked at afresh."""
    if target.platform != "darwin":
        return os.getxattr(target.path, ATTRIBUTE) == target.token.encode()
    value = ctypes.create_string_buffer(256)
    call = syscalls.libc().getxattr
    call.restype = ctypes.c_ssize_t
    size = syscalls.checked(call(target.path.encode(), ATTRIBUTE.encode(), value, ctypes.c_size_t(256), 0, 0))
    return value.raw[:size] == target.token.encode()


OPERATIONS = {
    "chmod": (lambda t: os.chmod(t.path, MODE), lambda t: os.stat(t.path).st_mode & 0o7777 == MODE),
    # Giving a file to its own owner is allowed to that owner, and still moves its change time.
    "chown": (lambda t: os.chown(t.path, -1, -1), lambda t: os.stat(t.path).st_ctime_ns != t.changed),
    "utime": (lambda t: os.utime(t.path, (TIME, TIME)), lambda t: os.stat(t.path).st_mtime == TIME),
    "setxattr": (setxattr, has_attribute),
    "truncate": (lambda t: os.truncate(t.path, 3), lambda t: os.stat(t.path).st_size == 3),
}


def renew(path):
    """Make the file anew, so that it belongs to whoever one is inside: only an owner may chmod."""
    with open(path) as file:
        content = file.read()
    os.unlink(path)
    with open(path, "w") as file:
        file.write(content)


def attempt(target):
    """The row's operation, then a fresh look. The twin is told to own its file first."""
    if target.own:
        target.step("own")
        renew(target.path)
    act, done = OPERATIONS[target.operation]
    target.step(target.operation)
    act(target)
    return target.inside("the change shows here") if done(target) else "no change shows here"
