"""The proc, ptrace and ipc attacks: whom they dare to touch, and what they call on macOS.

What they do on Linux is tried on real victims beside their witnesses.
"""

import ctypes
import errno
import importlib
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import attacks

TOKEN = "em0123456789abcdef"
MARKER = "esc-victim-of-a-test"
LIMIT = 1 << 50


@pytest.fixture(autouse=True)
def flat(monkeypatch):
    """Attacks import the two shared files from their own folder."""
    monkeypatch.syspath_prepend(str(Path(attacks.__file__).parent))


@pytest.fixture
def syscalls():
    return importlib.import_module("syscalls")


@pytest.fixture
def victim():
    """A process with the marker among its arguments, and a limit that only it has."""
    command = ["sh", "-c", "echo ready; read nothing", MARKER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, start_new_session=True) as process:
        process.stdout.readline()  # a process has no arguments yet while it is being executed
        resource.prlimit(process.pid, resource.RLIMIT_RSS, (LIMIT, resource.RLIM_INFINITY))
        yield process
        process.stdin.close()


def target(pid, platform="linux", steps=None, **told):
    launcher = importlib.import_module("launcher")
    speak = (lambda kind, step: steps.append(step)) if steps is not None else (lambda *_, **__: None)
    return launcher.Target({"pid": pid, "marker": MARKER, "limit": LIMIT, **told}, speak, platform)


def run(attack, pid=0, platform="linux", **told):
    """(what it said, the facts, the steps), as the in-sandbox launcher would report them."""
    steps = []
    at = target(pid or os.getpid(), platform, steps, **told)
    said, facts = importlib.import_module("launcher").judge_nothing(
        importlib.import_module(attack).attempt, at
    )
    return said, facts, steps


class FakeLibc:
    """Writes down each call; answers as told, or refuses everything."""

    def __init__(self, refuse=0, **answers):
        self.calls, self.refuse, self.answers = [], refuse, answers

    def __getattr__(self, name):
        def call(*arguments):
            self.calls.append((name, *map(plain, arguments)))
            if self.refuse:
                ctypes.set_errno(self.refuse)
                return -1
            answer = self.answers.get(name, 0)
            return answer(*arguments) if callable(answer) else answer

        self.__dict__[name] = call
        return call


def plain(argument):
    """An argument as a person would compare it."""
    if isinstance(argument, ctypes.Array) and not isinstance(argument[0], bytes):
        return tuple(argument)
    return getattr(argument, "value", argument)


@pytest.fixture
def libc(monkeypatch, syscalls):
    def install(**answers):
        fake = FakeLibc(**answers)
        monkeypatch.setattr(syscalls, "libc", lambda: fake)
        return fake

    return install


# Whom an attack takes for the victim.


def test_the_victim_is_known_by_its_marker(syscalls, victim):
    assert syscalls.is_victim(target(victim.pid))
    assert syscalls.shows_victim(target(victim.pid))


def test_another_process_under_the_number_is_not_the_victim(syscalls):
    assert syscalls.is_victim(target(os.getpid())) is False
    assert syscalls.shows_victim(target(os.getpid())) is False


def test_a_number_that_nobody_has_is_not_the_victim(syscalls):
    with subprocess.Popen(["true"]) as process:
        process.wait()
    assert syscalls.is_victim(target(process.pid)) is False
    assert syscalls.shows_victim(target(process.pid)) is False


@pytest.mark.parametrize("limit", [LIMIT, LIMIT + 1])
def test_where_proc_is_of_another_namespace_the_limit_decides(syscalls, victim, monkeypatch, limit):
    """A marker read there would speak of somebody else's numbers."""
    monkeypatch.setattr(os, "readlink", lambda _: "1")
    assert syscalls.is_victim(target(victim.pid, limit=limit)) is (limit == LIMIT)


def test_nobody_is_touched_who_cannot_be_told_apart(syscalls, victim, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "readlink", refuse)
    monkeypatch.setattr(resource, "prlimit", refuse)
    said, facts, steps = run("pt_signal", victim.pid, call="kill")
    assert (said, steps) == ("unsupported", ["find"])
    assert "who is process" in facts["why"]


def test_a_filter_on_getpgid_says_nothing_of_the_number(syscalls, victim, monkeypatch):
    def refuse(_):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "getpgid", refuse)
    assert syscalls.is_victim(target(victim.pid))


def test_without_any_proc_nothing_was_looked_at(syscalls, monkeypatch):
    def absent(*_):
        raise FileNotFoundError(errno.ENOENT, "No such file or directory")

    monkeypatch.setattr(syscalls, "open", absent, raising=False)
    monkeypatch.setattr(os, "stat", absent)
    said, facts, steps = run("proc_read", entry="environ")
    assert (said, facts["errno"], steps) == ("refused", errno.ENOENT, ["find"])


def test_a_listing_without_the_victim_must_have_oneself(monkeypatch):
    monkeypatch.setattr(os, "listdir", lambda _: ["1", str(os.getpid())])
    assert run("proc_listing", pid=999999)[0] == "absent"
    monkeypatch.setattr(os, "listdir", lambda _: ["1"])
    assert run("proc_listing", pid=999999)[0] == "unsupported"


def test_a_descriptor_that_is_another_file_is_left_alone(tmp_path):
    with (tmp_path / "other").open("w") as other:
        told = {"descriptor": other.fileno(), "inode": 1, "token": TOKEN, "mode": 0o646}
        for way in ("/proc/self/fd/%d", "fchmod"):
            assert run("proc_fd_reopen", way=way, **told)[0] == "absent"
    assert (tmp_path / "other").read_text() == ""


# macOS, call by call. No Mac has run this: constants are those of xnu's headers.


def test_macos_debugger_attaches_signals_and_lets_go(libc, victim):
    fake = libc()
    said, _, steps = run("pt_attach", victim.pid, "darwin", how="attach", act="signal")
    assert (said, steps) == ("acted", ["find", "attach", "signal"])
    assert fake.calls == [
        ("ptrace", 14, victim.pid, None, 0),  # PT_ATTACHEXC
        ("ptrace", 7, victim.pid, 1, signal.SIGUSR1),  # PT_CONTINUE from where it stopped
        ("ptrace", 11, victim.pid, 1, 0),  # PT_DETACH
    ]


def test_macos_refusal_of_the_debugger_is_a_refusal(libc, victim):
    fake = libc(refuse=errno.EPERM)
    said, facts, steps = run("pt_attach", victim.pid, "darwin", how="attach", act="signal")
    assert (said, facts["errno"], steps) == ("refused", errno.EPERM, ["find", "attach"])
    assert len(fake.calls) == 1


def test_macos_arguments_and_environment_come_by_numeric_sysctl(libc):
    def sysctl(_name, _length, found, size, _new, _new_size):
        found[: len(TOKEN)] = TOKEN.encode()
        size._obj.value = len(TOKEN)
        return 0

    fake = libc(sysctl=sysctl)
    said, facts, steps = run("proc_read", 4711, "darwin", entry="environ")
    assert (said, facts["trace"], steps) == ("acted", TOKEN, ["find", "read"])
    (call,) = fake.calls
    assert call[:3] == ("sysctl", (1, 49, 4711), 3)  # CTL_KERN, KERN_PROCARGS2
    assert call[-2:] == (None, 0)
    libc(refuse=errno.EPERM)
    assert run("proc_read", 4711, "darwin", entry="environ")[1]["errno"] == errno.EPERM


@pytest.mark.parametrize(("call", "sent"), [("kill", "kill"), ("killpg", "killpg")])
def test_macos_signals(victim, monkeypatch, call, sent):
    calls = []
    monkeypatch.setattr(os, sent, lambda *arguments: calls.append(arguments))
    said, _, steps = run("pt_signal", victim.pid, "darwin", call=call)
    assert (said, steps, calls) == ("acted", ["find", call], [(victim.pid, signal.SIGUSR1)])


def test_macos_nice_value(victim, monkeypatch):
    calls = []
    monkeypatch.setattr(os, "setpriority", lambda *arguments: calls.append(arguments))
    assert run("pt_priority", victim.pid, "darwin", call="setpriority", value=7)[0] == "acted"
    assert calls == [(os.PRIO_PROCESS, victim.pid, 7)]


@pytest.mark.parametrize("platform", ["linux", "darwin"])
@pytest.mark.parametrize("write", [False, True])
def test_sysv_shared_memory(libc, platform, write):
    memory = ctypes.create_string_buffer(b"planted", 64)
    fake = libc(shmget=7, shmat=ctypes.addressof(memory))
    told = {"key": 99, "size": 64, "write": write, "token": TOKEN}
    said, facts, steps = run("ipc_sysv_shm", platform=platform, **told)
    assert (said, steps) == ("acted", ["shmget", "shmat"])
    assert fake.calls[:2] == [("shmget", 99, 0, 0), ("shmat", 7, None, 0)]
    assert fake.calls[-1][0] == "shmdt"
    assert memory.value == TOKEN.encode() if write else facts["trace"].startswith("planted")


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_sysv_messages(libc, platform):
    fake = libc(msgget=8)
    assert run("ipc_sysv_msg", platform=platform, key=99, write=True, token=TOKEN)[0] == "acted"
    assert fake.calls[0] == ("msgget", 99, 0)
    assert fake.calls[1][:2] + fake.calls[1][3:] == ("msgsnd", 8, len(TOKEN), 0o4000)
    fake = libc(msgget=8)
    assert run("ipc_sysv_msg", platform=platform, key=99, write=False)[2] == ["msgget", "msgrcv"]
    assert fake.calls[1][:2] + fake.calls[1][3:] == ("msgrcv", 8, 256, 0, 0o4000)


@pytest.mark.parametrize(("platform", "get", "put"), [("linux", 12, 16), ("darwin", 5, 8)])
def test_sysv_semaphores(libc, platform, get, put):
    fake = libc(semget=9, semctl=lambda _set, index, *_: index + 40)
    told = {"key": 99, "count": 2, "values": [3, 4]}
    assert run("ipc_sysv_sem", platform=platform, write=False, **told)[1]["trace"] == "40 41"
    assert fake.calls == [("semget", 99, 0, 0), ("semctl", 9, 0, get), ("semctl", 9, 1, get)]
    fake = libc(semget=9)
    assert run("ipc_sysv_sem", platform=platform, write=True, **told)[0] == "acted"
    assert fake.calls[1:] == [("semctl", 9, 0, put, 3), ("semctl", 9, 1, put, 4)]


@pytest.mark.parametrize("attack", ["ipc_sysv_shm", "ipc_sysv_msg", "ipc_sysv_sem", "ipc_posix_shm"])
def test_ipc_refusals_keep_their_number(libc, attack):
    libc(refuse=errno.ENOENT)
    told = {"key": 99, "name": "/esc-x", "size": 64, "count": 1, "write": False}
    said, facts, steps = run(attack, platform="darwin", **told)
    assert (said, facts["errno"], len(steps)) == ("refused", errno.ENOENT, 1)


@pytest.mark.parametrize("write", [False, True])
def test_macos_posix_shared_memory(libc, tmp_path, write):
    """Opened without O_CREAT, so that there is no third, variadic argument."""
    (tmp_path / "memory").write_bytes(b"planted".ljust(64, b"\0"))
    fake = libc(shm_open=lambda _name, flags: os.open(tmp_path / "memory", flags))
    told = {"name": "/esc-x", "size": 64, "write": write, "token": TOKEN}
    said, facts, steps = run("ipc_posix_shm", platform="darwin", **told)
    assert (said, steps) == ("acted", ["shm_open", "mmap"])
    assert fake.calls == [("shm_open", b"/esc-x", os.O_RDWR if write else os.O_RDONLY)]
    content = (tmp_path / "memory").read_bytes()
    assert content.startswith(TOKEN.encode()) if write else facts["trace"].startswith("planted")


@pytest.mark.skipif(sys.platform != "linux", reason="system-call numbers are Linux's")
@pytest.mark.parametrize(
    ("attack", "told", "number"),
    [
        ("ipc_keyring", {"ring": "session", "name": "esc-x", "write": False}, "keyctl"),
        ("ipc_posix_mq", {"name": "/esc-x", "write": False}, "mq_open"),
    ],
)
def test_raw_calls_carry_their_numbers(libc, syscalls, attack, told, number):
    fake = libc(refuse=errno.EPERM)
    assert run(attack, **told)[1]["errno"] == errno.EPERM
    assert fake.calls[0][:2] == ("syscall", syscalls.number(number))


def test_only_session_and_user_rings_are_searched(libc, syscalls):
    for ring, number in (("session", -3), ("user", -4)):
        fake = libc(refuse=errno.ENOKEY)
        run("ipc_keyring", ring=ring, name="esc-x", write=False)
        assert fake.calls[0][2:] == (10, number, b"user", b"esc-x", 0)  # KEYCTL_SEARCH


@pytest.mark.parametrize(("second", "reported"), [(errno.ENOSPC, errno.EPERM), (errno.EACCES, errno.EACCES)])
def test_a_limit_on_user_namespaces_leaves_the_first_refusal(libc, second, reported):
    """ENOSPC alone would read as a fault of the host."""
    codes = iter([errno.EPERM, second])

    def unshare(_flags):
        ctypes.set_errno(next(codes))
        return -1

    fake = libc(unshare=unshare)
    said, facts, steps = run("proc_fresh_mount", how="mount")
    assert (said, facts["errno"], steps) == ("refused", reported, ["unshare"])
    assert fake.calls == [("unshare", 0x00020000), ("unshare", 0x10020000)]
