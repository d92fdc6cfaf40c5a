"""The filters, loaded into a child that then makes the calls. Doubles with one rule less must be noticed."""

from __future__ import annotations

import errno
import json
import os
import platform
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyseccomp", reason="system-call filters are Linux's", exc_type=ImportError)

import pyseccomp as libseccomp

from runners.tier1 import seccomp

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers below are x86_64's")

HIGH = 0xABCD << 32
CALLS: dict[str, tuple[tuple[int, ...], int]] = {  # a raw call and its arguments → the errno, 0 for none
    "ptrace": ((101, 0, 0, 0, 0), errno.EPERM),
    "process_vm_readv": ((310, 0, 0, 0, 0, 0, 0), errno.EPERM),
    "pidfd_getfd": ((438, -1, 0, 0), errno.EPERM),
    "keyctl": ((250, 0, 0, 0, 0, 0), errno.EPERM),
    "add_key": ((248, 0, 0, 0, 0, 0), errno.EPERM),
    "request_key": ((249, 0, 0, 0, 0), errno.EPERM),
    "io_uring_setup": ((425, 1, 0), errno.EPERM),
    "io_uring_enter": ((426, -1, 0, 0, 0, 0, 0), errno.EPERM),
    "io_uring_register": ((427, -1, 0, 0, 0), errno.EPERM),
    "bpf": ((321, 0, 0, 0), errno.EPERM),
    "perf_event_open": ((298, 0, 0, 0, 0, 0), errno.EPERM),
    "userfaultfd": ((323, 1), errno.EPERM),
    "mount": ((165, 0, 0, 0, 0, 0), errno.EPERM),
    "fsopen": ((430, 0, 0), errno.EPERM),
    "open_by_handle_at": ((304, -1, 0, 0), errno.EPERM),
    "kexec_load": ((246, 0, 0, 0, 0), errno.EPERM),
    "init_module": ((175, 0, 0, 0), errno.EPERM),
    "syslog": ((103, 10, 0, 0), errno.EPERM),
    "setns": ((308, -1, 0), errno.EPERM),
    "AF_VSOCK": ((41, 40, 1, 0), errno.EPERM),
    "AF_VSOCK, upper half": ((41, HIGH | 40, 1, 0), errno.EPERM),
    "AF_NETLINK": ((41, 16, 3, 0), errno.EPERM),
    "AF_PACKET": ((41, 17, 3, 0), errno.EPERM),
    "AF_ALG": ((41, 38, 5, 0), errno.EPERM),
    "a family of tomorrow": ((41, 46, 1, 0), errno.EPERM),
    "AF_VSOCK pair": ((53, 40, 1, 0, 0), errno.EPERM),
    "AF_UNIX": ((41, 1, 1, 0), 0),
    "AF_INET": ((41, 2, 1, 0), 0),
    "AF_INET6": ((41, 10, 1, 0), 0),
    "TIOCSTI": ((16, -1, 0x5412, 0), errno.EPERM),
    "TIOCSTI, upper half": ((16, -1, HIGH | 0x5412, 0), errno.EPERM),
    "TIOCLINUX, upper half": ((16, -1, HIGH | 0x541C, 0), errno.EPERM),
    "TIOCSETD": ((16, -1, 0x5423, 0), errno.EPERM),
    "TIOCGWINSZ": ((16, -1, 0x5413, 0), errno.EBADF),
    "clone(CLONE_NEWUSER)": ((56, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0), errno.EPERM),
    "unshare(CLONE_NEWUSER)": ((272, 0x10000000), errno.EPERM),
    "unshare(CLONE_NEWNET)": ((272, 0x40000000), errno.EPERM),
    "unshare(CLONE_FILES)": ((272, 0x400), 0),
    "clone(CLONE_NEWNS)": ((56, 0x00020000 | signal.SIGCHLD, 0, 0, 0, 0), errno.EPERM),
    "clone3": ((435, 0, 0), errno.ENOSYS),
    "openat2": ((437, -1, 0, 0, 0), errno.ENOSYS),
    "getpid": ((39,), 0),
    "fchmod, set-uid": ((91, -1, 0o4755), errno.EPERM),
    "fchmod, set-gid": ((91, -1, 0o2755), errno.EPERM),
    "fchmod": ((91, -1, 0o755), errno.EBADF),
    "openat, new and set-uid": ((257, -1, 0, os.O_CREAT, 0o4755), errno.EPERM),
    "openat, no name and set-uid": ((257, -1, 0, os.O_TMPFILE, 0o4755), errno.EPERM),
    "openat, not new": ((257, -1, 0, os.O_RDONLY, 0o4755), errno.EFAULT),
    "setrlimit, cores": ((160, 4, 1), 0),  # done, it says, and nobody has read the limit at 1
    "setrlimit, cores, upper half": ((160, HIGH | 4, 1), 0),
    "setrlimit": ((160, 7, 1), errno.EFAULT),
    "prlimit64, cores": ((302, 0, 4, 1, 0), 0),
    "prlimit64, cores are asked for": ((302, 0, 4, 0, 1), errno.EFAULT),
    "mknodat, set-uid": ((259, -1, 0, 0o104755, 0), errno.EPERM),
}
SIGSYS = -signal.SIGSYS
FOREIGN = {"x32's getpid": ((0x40000000 + 39,), SIGSYS)}
CODES = {"i386's getpid, by int 0x80": "b814000000cd80c3"}  # mov eax, 20; int 0x80; ret


def complaints(programs: tuple[bytes, ...]) -> list[str]:
    asked = {
        "programs": [program.hex() for program in programs],
        "calls": {name: words for name, (words, _) in CALLS.items()},
        "foreign": {name: words for name, (words, _) in FOREIGN.items()},
        "codes": CODES,
    }
    argv = [sys.executable, "-I", "-S", str(Path(__file__).with_name("calls.py"))]
    done = subprocess.run(
        argv, input=json.dumps(asked), capture_output=True, text=True, check=True, timeout=30
    )
    wanted = {name: code for name, (_, code) in {**CALLS, **FOREIGN}.items()} | dict.fromkeys(CODES, SIGSYS)
    return [name for name, found in json.loads(done.stdout).items() if found != wanted[name]]


def test_every_call_is_answered_as_it_should_be() -> None:
    assert complaints(seccomp.programs()) == []


@pytest.mark.parametrize(
    ("what", "less", "told"),
    [
        ("REFUSED", tuple(set(seccomp.REFUSED) - {"keyctl"}), ["keyctl"]),
        ("FAMILIES", {**seccomp.FAMILIES, "AF_VSOCK": 40}, ["AF_VSOCK", "AF_VSOCK pair"]),
        ("_LAST_FAMILY", 50, []),
        (
            "_LOW_HALF",
            2**64 - 1,
            ["TIOCSTI, upper half", "TIOCLINUX, upper half", "setrlimit, cores, upper half"],
        ),
        ("_IN_MEMORY", ("clone3",), ["openat2"]),
        ("_CREATING", (os.O_CREAT,), ["openat, no name and set-uid"]),
        ("BITS", {"S_ISUID": 0o4000}, ["fchmod, set-gid"]),
        ("CHMODS", {"fchmod": 1}, ["mknodat, set-uid"]),
        ("LIMITS", {"setrlimit": 0}, ["prlimit64, cores"]),
        ("_CORE", 7, ["setrlimit, cores", "setrlimit, cores, upper half", "setrlimit", "prlimit64, cores"]),
        ("NAMESPACES", {"CLONE_NEWNET": 0x40000000}, ["clone(CLONE_NEWNS)"]),
    ],
)
def test_a_filter_with_a_rule_less_is_noticed(
    what: str, less: Any, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seccomp, what, less)
    changed = seccomp.programs.__wrapped__()
    if what == "NAMESPACES":
        told = ["clone(CLONE_NEWUSER)", "unshare(CLONE_NEWUSER)", *told]  # each makes the next possible
    assert complaints(changed) == told


def test_a_call_without_a_name_is_as_if_the_kernel_had_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(arch: int, call: int | str) -> bytes | int:
        if call == 39:
            raise ValueError(call)
        return libseccomp.resolve_syscall(arch, call)

    real = seccomp.libseccomp
    fewer = SimpleNamespace(**{**vars(real), "resolve_syscall": resolve})
    monkeypatch.setattr(seccomp, "libseccomp", fewer)
    assert complaints(seccomp.programs.__wrapped__()) == ["getpid"]


def test_another_architecture_that_is_let_through_is_noticed() -> None:
    made = seccomp.refusals()
    made.set_attr(libseccomp.Attr.ACT_BADARCH, libseccomp.ALLOW)
    assert complaints((seccomp._exported(made),)) == [*FOREIGN, *CODES]


def test_the_programs_are_those_filters() -> None:
    known, refusals = seccomp.programs()
    assert len(known) % 8 == len(refusals) % 8 == 0
    assert 100 < len(refusals) // 8 < len(known) // 8 < 4096  # the most that the kernel takes


PROGRAM = """
import socket, subprocess, sys, threading, time
sys.path.insert(0, {folder!r})
import calls
def work():
    socket.getaddrinfo("127.0.0.1", 80, flags=socket.AI_ADDRCONFIG | socket.AI_NUMERICHOST)
    each = threading.Thread(target=time.sleep, args=(0,))
    each.start()
    each.join()
    return subprocess.call(["/bin/sh", "-c", "exit 3"])
print(calls.ended([bytes.fromhex(each) for each in sys.argv[1:]], work))
"""


def test_a_python_with_names_threads_and_children_runs() -> None:
    program = PROGRAM.format(folder=str(Path(__file__).parent))
    argv = [sys.executable, "-c", program, *(each.hex() for each in seccomp.programs())]
    assert subprocess.check_output(argv, text=True, timeout=30) == "3\n"
