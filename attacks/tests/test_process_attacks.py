"""The proc and ptrace attacks: whom they dare to touch, and what they call on macOS.

What they do on Linux is tried on real victims beside their witnesses. No Mac has run the macOS calls:
their constants are those of xnu's headers.
"""

import errno
import os
import resource
import signal
import subprocess

import pytest

from attacks.tests import inside
from attacks.tests.inside import TOKEN, refused

MARKER = "esc-victim-of-a-test"
LIMIT = 1 << 50


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


def told(pid, **more):
    """What an attack is told of its victim."""
    return {"pid": pid, "marker": MARKER, "limit": LIMIT, **more}


def target(pid, **more):
    return inside.target(**told(pid, **more))


def run(attack, pid=0, platform="linux", **more):
    return inside.run(attack, platform, **told(pid or os.getpid(), **more))


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
        told = {"device": os.fstat(other.fileno()).st_dev, "inode": 1, "token": TOKEN, "mode": 0o646}
        for way in ("/proc/self/fd/%d", "fchmod"):
            assert run("proc_fd_reopen", way=way, **told)[0] == "absent"
    assert (tmp_path / "other").read_text() == ""


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
        size.value = len(TOKEN)
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


@pytest.mark.parametrize(("second", "reported"), [(errno.ENOSPC, errno.EPERM), (errno.EACCES, errno.EACCES)])
def test_a_limit_on_user_namespaces_leaves_the_first_refusal(libc, second, reported):
    """ENOSPC alone would read as a fault of the host."""
    codes = iter([errno.EPERM, second])

    fake = libc(unshare=lambda _flags: refused(next(codes)))
    said, facts, steps = run("proc_fresh_mount", how="mount")
    assert (said, facts["errno"], steps) == ("refused", reported, ["unshare"])
    assert fake.calls == [("unshare", 0x00020000), ("unshare", 0x10020000)]
