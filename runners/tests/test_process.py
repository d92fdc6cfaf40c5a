"""How a launcher is started: account, environment, descriptors, terminal, and how its end is told."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from runners import process
from runners.contract import Exit, Identity, Launch, Policy, StartError
from runners.tests.bench import Ended, identities, see


def launch(tmp_path: Path, **more: object) -> Launch:
    given = {"run": tmp_path, "policy": Policy(workspace=tmp_path), "command": (), "cwd": tmp_path}
    return Launch(**{**given, "identity": Identity.current(), "environment": {}, **more})


def run(program: str, asked: Launch, environment: dict[str, str] | None = None) -> Ended:
    return see(process.start(asked, [sys.executable, "-I", "-S", "-c", program], environment or {}))


def test_the_environment_is_exactly_what_was_given(tmp_path: Path) -> None:
    ended = run("print(open('/proc/self/environ').read())", launch(tmp_path), {"ONE": "1", "TWO": ""})
    assert sorted(ended.output.strip(b"\n\0").split(b"\0")) == [b"ONE=1", b"TWO="]


def test_an_exit_code_and_a_signal_are_told_apart(tmp_path: Path) -> None:
    assert run("import os; os._exit(137)", launch(tmp_path)).exit == Exit(code=137)
    assert run("import os; os.kill(os.getpid(), 9)", launch(tmp_path)).exit == Exit(signal=9)


def test_it_leads_a_session_and_has_nothing_to_read(tmp_path: Path) -> None:
    ended = run("import os; print(os.getsid(0) == os.getpid(), os.read(0, 1))", launch(tmp_path))
    assert ended.output == b"True b''\n"


def test_descriptors_keep_their_numbers_and_no_other_passes(tmp_path: Path) -> None:
    kept = os.dup2(os.open(tmp_path, os.O_RDONLY), 93)
    other = os.dup2(kept, 94)
    try:
        ended = run(
            "import os; print(sorted(os.listdir('/proc/self/fd')))",
            launch(tmp_path, descriptors=(kept,)),
        )
    finally:
        os.close(kept)
        os.close(other)
    assert b"'93'" in ended.output
    assert b"'94'" not in ended.output


def test_a_terminal_controls_the_launcher(tmp_path: Path) -> None:
    outer, inner = os.openpty()
    try:
        asked = launch(tmp_path, terminal=Path(os.ttyname(inner)))
        ended = run(
            "import os; os.open('/dev/tty', os.O_RDWR); print(os.ttyname(0)); os.write(2, b'shown')", asked
        )
        assert ended.output.decode().strip() == os.ttyname(inner)
        assert os.read(outer, 100) == b"shown"
    finally:
        os.close(outer)
        os.close(inner)


def test_what_cannot_be_executed_is_a_start_error(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(StartError, match="no-such-program"):
        process.start(launch(tmp_path), ["/no-such-program"], {})
    with pytest.raises(StartError, match="cannot execute"):
        process.start(launch(tmp_path, terminal=tmp_path / "no-terminal"), ["/bin/true"], {})
    assert len(os.listdir("/proc/self/fd")) == before


def test_kill_ends_the_launcher_and_nothing_else_once_it_is_gone(tmp_path: Path) -> None:
    running = process.start(launch(tmp_path), ["/bin/sleep", "20"], {})
    ended = see(running, until=lambda ended: True)
    assert ended.exit is None
    assert running.poll() == Exit(signal=9)
    running.kill()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_root_becomes_the_account_with_its_groups(tmp_path: Path) -> None:
    other = replace(identities()[0], name="x", uid=54321, gid=54322, groups=(54322, 54323))
    tmp_path.chmod(0o755)
    asked = launch(Path("/"), identity=other)
    running = process.start(
        asked, ["/bin/sh", "-c", "id -u; id -g; id -G; grep CapEff /proc/self/status"], {}
    )
    assert see(running).output.split() == [b"54321", b"54322", b"54322", b"54323", b"CapEff:", b"0" * 16]


def test_only_root_can_become_somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = replace(Identity.current(), name="ann", uid=54321)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(StartError, match="only root"):
        process.start(launch(tmp_path, identity=other), ["/bin/true"], {})
