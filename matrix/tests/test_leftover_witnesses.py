"""The witness of leftovers: which beat is one, and whom it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import psutil
import pytest

from matrix.evidence import Nothing, Seen
from matrix.tests.unconfined import IDLE, until_seen


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
    watching.started(launcher)  # all that it is asked for is its pid
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
    watching.started(SimpleNamespace(pid=0))
    beat(watching)
    watching.look(None)
    assert not watching.beaten_at
