"""What a person's command gets as its standard three: copies of files, and nothing that leads out."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import subprocess, sys
from runners.tier1.standard import Standard
try:
    standard = Standard()
except ValueError as error:
    sys.exit(str(error))
stdin, stdout, stderr = standard.given
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdin=stdin, stdout=stdout, stderr=stderr)
standard.started()
code = child.wait()
standard.finish()
sys.exit(code)
"""
REOPEN = "open('/proc/self/fd/%d', 'r+').write('changed')"


def run(code: str, **standard: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, code],
        check=False,
        text=True,
        timeout=30,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        **standard,
    )


def test_what_is_in_a_file_is_read_and_the_file_stays(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("given")
    with (tmp_path / "in").open() as file:
        done = run(f"import sys; print(sys.stdin.read()); {REOPEN % 0}", stdin=file, capture_output=True)
    assert done.stdout == "given\n"
    assert (tmp_path / "in").read_text() == "given"


def test_a_child_given_the_file_itself_changes_it(tmp_path: Path) -> None:
    """The double: what the copy keeps."""
    (tmp_path / "in").write_text("given")
    with (tmp_path / "in").open() as file:
        subprocess.run([sys.executable, "-c", REOPEN % 0], stdin=file, check=False, timeout=30)
    assert (tmp_path / "in").read_text() == "changed"


def test_what_is_written_is_behind_what_was_there_in_its_order_and_whole(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("before\n")
    code = "import os\nfor to, what in (1, b'one\\n'), (2, b'two\\n'), (1, b'x' * 300000): os.write(to, what)"
    code += "\nos.ftruncate(1, 0)"
    with (tmp_path / "log").open("a") as file:
        run(code, stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    assert (tmp_path / "log").read_text().startswith("before\none\ntwo\n" + "x" * 300000)


def test_a_child_that_reads_nothing_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(bytes(1 << 20))
    with (tmp_path / "in").open() as file:
        assert run("pass", stdin=file).returncode == 0


def test_pipes_closed_ones_and_plain_devices_pass() -> None:
    assert run("print(input())", input="said", capture_output=True).stdout == "said\n"
    assert run("pass", stdin=subprocess.DEVNULL, preexec_fn=lambda: os.close(0)).returncode == 0


def test_a_unix_connection_passes() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b"said\n")
        assert run("print(input())", stdin=theirs, capture_output=True).stdout == "said\n"


@pytest.mark.parametrize("kind", ["tcp", "udp", "unix datagram", "unix listener", "directory"])
def test_what_leads_out_does_not_pass(kind: str, tmp_path: Path) -> None:
    family = socket.AF_UNIX if "unix" in kind else socket.AF_INET
    made = socket.socket(
        family, socket.SOCK_STREAM if kind in {"tcp", "unix listener"} else socket.SOCK_DGRAM
    )
    folder = os.open(tmp_path, os.O_RDONLY)
    if kind == "unix listener":
        made.bind(str(tmp_path / "s"))
        made.listen()
    with made:
        done = run("print('ran')", stdout=folder if kind == "directory" else made, stderr=subprocess.PIPE)
    os.close(folder)
    assert done.returncode != 0
    assert "leads out of the sandbox" in done.stderr or "Is a directory" in done.stderr
