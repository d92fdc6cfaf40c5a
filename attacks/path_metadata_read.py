"""Read what stands beside a file's content: names in a directory, a link's text, an attribute.

None of these opens the file, so a policy that guards open() alone lets them through (Landlock
has no right for readlink or getxattr). The canary is the name, the text or the value itself.
Source: Linux Documentation/userspace-api/landlock.rst (current limitations), man 2 readlink, man 2 getxattr.
"""

import ctypes
import os

import syscalls

ATTRIBUTE = "user.escape-matrix"


def getxattr(target):
    """The value of the attribute, through libc on macOS, where Python has no call for it."""
    if target.platform != "darwin":
        return os.getxattr(target.path, ATTRIBUTE)
    value = ctypes.create_string_buffer(256)
    call = syscalls.libc().getxattr  # path, name, value, size, position, options
    call.restype = ctypes.c_ssize_t
    size = syscalls.checked(call(target.path.encode(), ATTRIBUTE.encode(), value, ctypes.c_size_t(256), 0, 0))
    return value.raw[:size]


OPERATIONS = {
    "list": lambda target: "\n".join(os.listdir(target.folder)),
    "readlink": lambda target: os.readlink(target.path),
    "getxattr": getxattr,
}


def attempt(target):
    """One of the three, named as the step."""
    target.step(target.operation)
    return OPERATIONS[target.operation](target) or target.absent("there, and nothing in it")
