"""Attach to a process outside as its debugger, and read, change or signal it.

Linux: PTRACE_ATTACH or PTRACE_SEIZE, then a word of memory at a time, or a signal put in when
letting go. macOS: PT_ATTACHEXC, then PT_CONTINUE with a signal; its ptrace has no memory access.
Sources: ptrace(2) of Linux and of xnu (bsd/sys/ptrace.h); CVE-2017-5206; cdk-team/CDK.
"""

import ctypes
import os
import signal

import syscalls

PEEKDATA, POKEDATA, ATTACH, DETACH, SEIZE, INTERRUPT = 2, 5, 16, 17, 0x4206, 0x4207
WALL = 0x40000000  # wait for a process that is not a child
PT_CONTINUE, PT_DETACH, PT_ATTACHEXC = 7, 11, 14  # macOS
WORD = ctypes.sizeof(ctypes.c_long)


def attempt(target):
    """Attach, act once, let go."""
    target.step("find")
    if not syscalls.is_victim(target):
        return target.absent(syscalls.unseen(target))
    target.step("attach")
    if target.platform == "darwin":
        return _macos(target)
    if target.how == "seize":
        _ptrace(SEIZE, target, 0, 0)
        _ptrace(INTERRUPT, target, 0, 0)
    else:
        _ptrace(ATTACH, target, 0, 0)
    put_in = 0
    try:
        os.waitpid(target.pid, WALL)
        target.step(target.act)
        if target.act == "signal":
            put_in = int(signal.SIGUSR1)
            return "put in SIGUSR1"
        return _peek(target) if target.act == "peek" else _poke(target)
    finally:
        _ptrace(DETACH, target, 0, put_in)


def _ptrace(request, target, address, data):
    return syscalls.syscall("ptrace", request, target.pid, address, data)


def _peek(target):
    """The cell, word by word; the raw call leaves each word where `data` points."""
    words = (ctypes.c_long * (target.size // WORD))()
    for index in range(len(words)):
        _ptrace(PEEKDATA, target, target.address + index * WORD, ctypes.addressof(words) + index * WORD)
    return bytes(words)


def _poke(target):
    """The token into the cell, word by word."""
    content = target.token.encode().ljust(target.size, b"\0")
    for offset in range(0, target.size, WORD):
        word = int.from_bytes(content[offset : offset + WORD], "little", signed=True)
        _ptrace(POKEDATA, target, target.address + offset, word)
    return "poked the token"


def _macos(target):
    """Attach and go on with a signal; the address 1 means where it stopped."""
    call = syscalls.libc().ptrace
    syscalls.checked(call(PT_ATTACHEXC, target.pid, None, 0))
    try:
        target.step("signal")
        syscalls.checked(call(PT_CONTINUE, target.pid, ctypes.c_void_p(1), int(signal.SIGUSR1)))
    finally:
        call(PT_DETACH, target.pid, ctypes.c_void_p(1), 0)
    return "put in SIGUSR1"
