"""The first program inside: what it hands out, keeps from the command, and will not start in."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from runners.tier1 import inside

TOLD = {"door": -1, "terminal": False, "guarded": [], "close": True}
PROGRAM = str(Path(inside.__file__))
LOOK = """
import json, os, signal
print(json.dumps({
    "open": sorted(map(int, os.listdir("/proc/self/fd"))),
    "environ": open("/proc/self/environ").read(),
    "pipe": signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN,
}))
"""
SIGPIPE_IGNORED = 1 << (signal.SIGPIPE - 1)


def start(*command: str, told: dict | None = None, **more) -> subprocess.CompletedProcess:
    argv = [sys.executable, "-I", "-S", PROGRAM, json.dumps({**TOLD, **(told or {})}), *command]
    return subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False, **more)


def test_the_listening_socket_is_handed_out_and_nothing_of_it_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inside, "PORT", 0)
    ours, theirs = socket.socketpair()
    before = os.listdir("/proc/self/fd")
    with ours:
        inside.hand_out(theirs.detach())
        message, [descriptor], _, _ = socket.recv_fds(ours, 16, 4)
        with socket.socket(fileno=descriptor) as listener:
            assert listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1
            address, port = listener.getsockname()
            assert address == "127.0.0.1"
            with socket.create_connection((address, port), timeout=5):
                listener.accept()[0].close()
        assert message == b"l"
        assert ours.recv(1) == b""  # the other end is closed
    assert set(os.listdir("/proc/self/fd")) < set(before)


def test_the_command_gets_the_standard_three_alone_and_the_environment_as_given(tmp_path: Path) -> None:
    extra = os.open(tmp_path, os.O_RDONLY)
    done = start(sys.executable, "-I", "-S", "-c", LOOK, env={"GIVEN": "1"}, pass_fds=(extra,))
    os.close(extra)
    seen = json.loads(done.stdout)
    assert seen["open"] == [0, 1, 2, 3]  # the last is the listing's own
    assert seen["environ"] == "GIVEN=1\0"  # no LC_CTYPE, which the interpreter adds to its own


def test_a_command_is_ended_by_a_closed_pipe_as_ever() -> None:
    status = start("/bin/grep", "SigIgn", "/proc/self/status").stdout
    assert int(status.split()[1], 16) & SIGPIPE_IGNORED == 0
    double = subprocess.check_output(  # what Python would hand on
        [sys.executable, "-c", "import os; os.execv('/bin/grep', ['grep', 'SigIgn', '/proc/self/status'])"],
        text=True,
    )
    assert int(double.split()[1], 16) & SIGPIPE_IGNORED


def test_without_the_closing_a_descriptor_passes(tmp_path: Path) -> None:
    extra = os.open(tmp_path, os.O_RDONLY)
    done = start(sys.executable, "-I", "-S", "-c", LOOK, told={"close": False}, pass_fds=(extra,))
    os.close(extra)
    assert extra in json.loads(done.stdout)["open"]


@pytest.mark.parametrize(("command", "code"), [("/no/such", 127), ("/etc/passwd", 126)])
def test_what_cannot_be_executed_says_so_as_a_shell_does(command: str, code: int) -> None:
    done = start(command)
    assert done.returncode == code
    assert f"cannot execute {command}" in done.stderr


def test_a_guarded_path_without_its_mount_starts_nothing(tmp_path: Path) -> None:
    done = start("/bin/echo", "started", told={"guarded": [str(tmp_path / "key")]})
    assert done.returncode == inside.CANNOT
    assert "key is not guarded" in done.stderr
    assert done.stdout == ""


def test_a_mount_is_known_by_its_point_and_a_link_to_one_is_none(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/proc")
    assert inside.unguarded(["/proc"]) == ""
    assert inside.unguarded(["/proc", str(tmp_path / "link")]) == str(tmp_path / "link")
    assert inside.unescaped(rb"/a\040b\134c") == rb"/a b\c"
