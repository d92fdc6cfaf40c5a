"""Raw system calls under compiled filters, each in a child: what test_seccomp.py starts and asks.

python3 -I -S calls.py reads {"programs": [hex], "calls": {name: [number, argument…]}, "foreign": the same for
calls that may end the process, "codes": {name: machine code as hex}}, and prints {name: errno, or minus the
number of the signal that ended it}.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import sys
from collections.abc import Callable
from functools import partial

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2


class Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def load(program: bytes) -> None:
    given = Program(len(program) // 8, program)
    assert LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert LIBC.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(given), 0, 0) == 0


def raw(words: list[int]) -> int:
    """A system call; the errno."""
    pid = os.getpid()
    result = LIBC.syscall(*map(ctypes.c_long, words))
    if os.getpid() != pid:
        os._exit(0)  # the child of a clone() that was let through
    return 0 if result != -1 else ctypes.get_errno()


def run_code(code: bytes) -> int:
    """Machine code; 0."""
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code)
    ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))()
    return 0


def ended(programs: list[bytes], act: Callable[[], int]) -> int:
    """Do it in a child under the filters."""
    pid = os.fork()
    if pid == 0:
        try:
            for program in programs:
                load(program)
            os._exit(act())
        finally:
            os._exit(255)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def answers(programs: list[bytes], calls: dict[str, list[int]]) -> dict[str, int]:
    """The errno of each call, one child for all."""
    read, write = os.pipe()

    def act() -> int:
        os.write(write, json.dumps({name: raw(words) for name, words in calls.items()}).encode())
        return 0

    assert ended(programs, act) == 0
    return json.loads(os.read(read, 1 << 16))


def main() -> None:
    asked = json.load(sys.stdin)
    programs = [bytes.fromhex(each) for each in asked["programs"]]
    found = answers(programs, asked["calls"])
    for name, words in asked["foreign"].items():
        found[name] = ended(programs, partial(raw, words))
    for name, code in asked["codes"].items():
        found[name] = ended(programs, partial(run_code, bytes.fromhex(code)))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
