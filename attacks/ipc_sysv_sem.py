"""Read or set the System V semaphores of somebody outside, by their key.

Sources: semget(2), semctl(2) of Linux and macOS; ipc_namespaces(7).
"""

import ctypes

import syscalls

COMMANDS = {"linux": (12, 16), "darwin": (5, 8)}  # GETVAL, SETVAL


def attempt(target):
    """The values of the set are the canary: read them all, or set them all to those told."""
    libc = syscalls.libc()
    libc.semctl.argtypes = [ctypes.c_int] * 3  # what follows is variadic
    get, put = COMMANDS[target.platform]
    target.step("semget")
    semaphores = syscalls.checked(libc.semget(target.key, 0, 0))
    if target.write:
        target.step("semctl")
        for index, value in enumerate(target.values):
            syscalls.checked(libc.semctl(semaphores, index, put, ctypes.c_int(value)))
        return "set all values"
    target.step("semctl")
    found = [syscalls.checked(libc.semctl(semaphores, index, get)) for index in range(target.count)]
    return " ".join(str(value) for value in found)
