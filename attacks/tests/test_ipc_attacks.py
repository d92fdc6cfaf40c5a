"""The ipc attacks: what they call on Linux and on macOS, and that a refusal keeps its number.

No Mac has run the macOS calls: their constants are those of xnu's headers.
"""

import ctypes
import errno
import os

import pytest

from attacks.tests.inside import LINUX, TOKEN, run


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


@LINUX
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
