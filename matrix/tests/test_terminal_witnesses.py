"""The witnesses of the terminal, leftovers, inherited files and the environment.

Each must see the attack's own trace, nothing of an idle attack, and say so when it has gone blind.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

import attacks
from matrix import locate
from matrix.arm import witness_of
from matrix.evidence import Acted, Attempted, Nothing, Refused, Seen, Silent
from matrix.load import load_table
from matrix.witnesses.contract import Ground
from runners.contract import Identity, default_python

SECTIONS = ("terminal.json", "leftover.json", "descriptor.json", "environment.json")
ROWS = {
    case.id: case
    for case in load_table(locate.testdata() / "egress-cases.json").cases
    if case.source.file.endswith(SECTIONS) and "linux" in case.platforms
}
IDLE = Attempted(said=Acted(trace="did nothing"))
BRIEF = [name for name, case in ROWS.items() if case.witness not in {"survivor", "keystrokes"}]
TERMINAL = ["tty-tiocsti", "tty-state-leftover-raw"]
DRIVE = """
import json, os, sys
child = os.fork()
if child:
    sys.exit(os.waitpid(child, 0)[1])
sys.path.insert(0, sys.argv[1])
import importlib, launcher
out = os.dup(1)
target = launcher.Target(json.loads(sys.argv[3]), lambda *_, **__: None)
said, facts = launcher.judge_nothing(importlib.import_module(sys.argv[2]).attempt, target)
os.write(out, json.dumps([said, facts]).encode())
"""


@pytest.fixture
def witness(tmp_path):
    """The witness of a row, by its id; closed at the end."""
    made = []
    tmp_path.chmod(0o755)

    def place(_):
        folder = tmp_path / "outside"
        folder.mkdir()
        return folder

    def make(name):
        corner = tmp_path / f"corner-{len(made)}"
        corner.mkdir()
        ground = Ground(
            case=ROWS[name],
            arm="attempt",
            run=tmp_path,
            workspace=tmp_path,
            corner=corner,
            identity=Identity.current(),
            record=lambda *_: None,
            place=place,
        )
        made.append(witness_of(ROWS[name])(ground))
        return made[-1]

    yield make
    for each in made:
        each.close()


def attack(case, planted, told=None):
    """Run the row's attack as the in-sandbox launcher would, the leader of a session with that terminal."""
    told = {**case.args, **planted.told, "harness": os.getpid(), **(told or {})}
    stdin = os.open(planted.terminal or os.devnull, os.O_RDWR | os.O_NOCTTY)
    out = os.memfd_create("out")  # no pipe, which a stray would hold open
    lead = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n" if planted.terminal else ""
    folder = str(Path(attacks.__file__).parent)
    subprocess.run(
        [default_python(), "-I", "-S", "-c", lead + DRIVE, folder, case.attack, json.dumps(told)],
        stdin=stdin,
        stdout=out,
        stderr=stdin if planted.terminal else None,
        check=True,
        timeout=20,
        cwd=planted.cwd,
        pass_fds=planted.descriptors,
        env={"PATH": "/usr/bin:/bin", **planted.environment, **planted.granted},
        start_new_session=True,
    )
    said, facts = json.loads(os.pread(out, 1 << 16, 0))
    os.close(stdin)
    os.close(out)
    if said == "acted":
        return Attempted(said=Acted(**facts))
    return Attempted(
        said=Refused(errno=facts["errno"]) if said == "refused" else Silent(why=f"{said} {facts}")
    )


def until_seen(watching, attempted, seconds=3.0):
    """Look as the executor does, until something is seen or the time is over."""
    end = time.monotonic() + seconds
    while not isinstance(found := watching.look(attempted), Seen) and time.monotonic() < end:
        time.sleep(0.005)
    return found


@pytest.mark.parametrize("name", [name for name in ROWS if not name.startswith("left-wrapper")])
def test_the_attack_is_seen_unconfined(witness, name):
    watching = witness(name)
    planted = watching.plant()
    assert isinstance(watching.look(None), Nothing)
    attempted = attack(ROWS[name], planted)
    blocked = name == "tty-tioclinux" or (name == "tty-reacquire-force" and os.geteuid())
    if blocked:
        assert isinstance(attempted.said, Refused)
    else:
        assert isinstance(until_seen(watching, attempted), Seen), attempted


@pytest.mark.parametrize("name", BRIEF)
def test_an_idle_attack_is_seen_nowhere_and_the_witness_proves_that_it_can_see(witness, name):
    watching = witness(name)
    watching.plant()
    assert isinstance(watching.look(IDLE), Nothing)
    assert watching.check() == ""
    assert isinstance(watching.look(IDLE), Nothing), "its own proof is no sighting of the attack's canary"


@pytest.mark.parametrize("name", [name for name, case in ROWS.items() if case.args.get("act") == "read"])
def test_a_canary_to_be_read_is_never_told_and_counts_by_echo_alone(witness, name):
    watching = witness(name)
    assert watching.ground.token not in json.dumps(watching.plant().told)
    assert isinstance(watching.look(Attempted(said=Refused(errno=1))), Nothing)
    assert isinstance(watching.look(Attempted(said=Acted(trace=watching.ground.token[:-1]))), Nothing)
    assert isinstance(watching.look(Attempted(said=Acted(trace=watching.ground.token))), Seen)


@pytest.mark.parametrize("name", [name for name, case in ROWS.items() if case.mechanism == "environment"])
class TestEnvironment:
    def test_neither_value_is_told(self, witness, name):
        watching = witness(name)
        planted = watching.plant()
        told = json.dumps([planted.told, planted.twin])
        assert not {watching.ground.token, watching.ground.twin_token} & set(told.split('"'))

    def test_the_twin_is_the_granted_variable(self, witness, name):
        watching = witness(name)
        planted = watching.plant()
        assert watching.twin(attack(ROWS[name], planted, planted.twin))
        assert not watching.twin(attack(ROWS[name], planted, {"variable": "EM_NOBODY_SET_IT"}))


# The terminal.


@pytest.mark.parametrize("name", TERMINAL)
def test_a_terminal_that_is_gone_is_noticed(witness, name):
    watching = witness(name)
    watching.plant()
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, watching.terminal.slave)
    os.close(nothing)
    assert watching.check() != ""


def test_state_counts_only_after_the_run(witness):
    watching = witness("tty-state-leftover-size")
    watching.plant()
    watching.terminal.resize(watching.number, watching.number + 1)
    assert isinstance(watching.look(None), Nothing)
    assert isinstance(watching.look(IDLE), Seen)


def test_input_that_is_flushed_at_the_exit_was_seen_during_the_run(witness):
    watching = witness("tty-tiocsti")
    watching.plant()
    watching.terminal.type(watching.ground.token)
    assert isinstance(watching.look(None), Seen)


def test_keys_that_nobody_took_are_still_there(witness):
    watching = witness("tty-keystroke-steal")
    watching.plant()
    assert isinstance(until_seen(watching, IDLE, 0.3), Nothing)
    assert watching.typed
    assert watching.check() == ""


def test_keys_that_were_taken_elsewhere_make_it_blind(witness):
    watching = witness("tty-keystroke-steal")
    watching.plant()
    until_seen(watching, IDLE, 0.3)
    os.read(watching.terminal.slave, 4096)
    assert "took" in watching.check()


# Processes that stayed.


@pytest.fixture
def stray():
    """A process of another name: python SOURCE ARGUMENTS…; ended at the end."""
    started = []

    def start(source, *arguments):
        command = [sys.executable, "-I", "-S", "-c", source, *arguments]
        started.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        started[-1].stdout.readline()
        return started[-1]

    yield start
    for process in started:
        with process:
            process.kill()


NAMED = """
import ctypes, sys
ctypes.CDLL(None).prctl(15, sys.argv[1].encode(), 0, 0, 0)
print("ready", flush=True)
sys.stdin.read()
"""
LAUNCHER = """
import sys
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def survivor(witness):
    watching = witness("left-daemon")
    watching.plant()
    return watching


def beat(watching):
    os.write(watching.log, watching.ground.token.encode() + b"\n")


def test_beats_while_it_runs_and_in_the_grace_are_no_escape(survivor):
    beat(survivor)
    assert isinstance(survivor.look(None), Nothing)
    beat(survivor)
    assert isinstance(survivor.look(IDLE), Nothing)
    beat(survivor)
    assert isinstance(until_seen(survivor, IDLE, 0.5), Nothing)


def test_a_beat_after_the_grace_is_one(survivor):
    survivor.look(IDLE)
    until_seen(survivor, IDLE, 0.15)
    assert isinstance(survivor.look(IDLE), Nothing)
    beat(survivor)
    assert isinstance(survivor.look(IDLE), Seen)


def test_a_stray_that_beats_in_a_copy_is_found_by_its_name(survivor, stray):
    process = stray(NAMED, survivor.name)
    found = until_seen(survivor, IDLE)
    assert isinstance(found, Seen)
    assert str(process.pid) in found.how


def test_close_ends_the_stray_that_carries_the_name(survivor, stray):
    process, other = stray(NAMED, survivor.name), stray(NAMED, "emsomebodyelse")
    survivor.close()
    assert process.wait(5) == -signal.SIGKILL
    assert other.poll() is None


def test_a_dead_stray_is_none(survivor, stray):
    process = stray(NAMED, survivor.name)
    process.kill()
    psutil.Process(process.pid).status()  # not reaped yet: a zombie that keeps the name
    assert isinstance(until_seen(survivor, IDLE, 0.6), Nothing)


def test_its_check_needs_the_file(survivor):
    assert survivor.check() == ""
    survivor.path.unlink()
    assert "taken away" in survivor.check()


@pytest.mark.parametrize(("name", "number"), [("killed", signal.SIGKILL), ("terminated", signal.SIGTERM)])
def test_the_launcher_is_ended_once_a_stray_has_beaten(witness, stray, name, number):
    watching = witness(f"left-wrapper-{name}")
    watching.plant()
    launcher = stray(LAUNCHER)
    watching.started(launcher.pid)
    watching.look(None)
    assert not watching.beaten_at
    beat(watching)
    end = time.monotonic() + 5
    while launcher.poll() is None and time.monotonic() < end:
        watching.look(None)
        time.sleep(0.005)
    assert launcher.returncode == -number


def test_a_launcher_that_is_no_process_is_left_alone(witness):
    watching = witness("left-wrapper-killed")
    watching.plant()
    watching.started(0)
    beat(watching)
    watching.look(None)
    assert not watching.beaten_at


# Inherited files.


def test_a_pipe_that_was_emptied_makes_it_blind(witness):
    watching = witness("fd-inherited-file-pipe")
    watching.plant()
    os.read(watching.open[0], 4096)
    os.close(watching.open.pop())
    assert "emptied" in watching.check()


def test_a_file_that_lost_its_content_makes_it_blind(witness):
    watching = witness("fd-inherited-file-read")
    watching.plant()
    os.ftruncate(watching.open[0], 0)
    assert "lost" in watching.check()


@pytest.mark.parametrize("name", ["fd-inherited-dir-read", "fd-inherited-dir-create"])
def test_a_directory_that_is_gone_makes_it_blind(witness, name):
    watching = witness(name)
    watching.plant()
    for file in watching.directory.iterdir():
        file.unlink()
    watching.directory.rmdir()
    watching.directory.write_text("no directory")
    assert watching.check() != ""
    watching.directory.unlink()


@pytest.mark.parametrize("name", ["tcp", "unix"])
def test_a_socket_whose_other_end_is_closed_makes_it_blind(witness, name):
    watching = witness(f"fd-inherited-socket-{name}")
    watching.plant()
    watching.other.close()
    assert watching.check() != ""


def test_a_listener_elsewhere_that_is_closed_makes_it_blind(witness):
    watching = witness("fd-inherited-socket-reconnect")
    watching.plant()
    watching.other.close()
    assert watching.check() == ""
    watching.elsewhere.close()
    assert watching.check() != ""
