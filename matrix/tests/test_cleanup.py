"""Nothing of a run is left: after its end, after an interrupt, and after kill -9 and the next run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from matrix import ledger
from matrix.ledger import LEDGER, OWNER, Entry, Run
from matrix.sweep import carries

pytestmark = [pytest.mark.real, pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")]

ALL = ("null", "unshare-usual", "bubblewrap", "firejail", "nsjail", "docker")
PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/srv", "/dev/mqueue", str(Path.home()))
PATIENCE = 60.0  # seconds until a started run is in full swing


class Watched:
    """A run of the harness in a process of its own, and what it noted as to be swept."""

    def __init__(self, out: Path, *arguments: str, columns: tuple[str, ...] = ALL) -> None:
        named = [word for name in columns for word in ("--backend", name)]
        command = [sys.executable, "-m", "matrix", "run", *named, "-n", "2", "--out", str(out), *arguments]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        until(lambda: self.process.poll() is not None or self._mine())
        self.run = self._mine()[0]
        until((self.run.directory / LEDGER).exists)
        self.ledger = (self.run.directory / LEDGER).open()  # stays readable when the file is gone

    def _mine(self) -> list[Run]:
        """The run that this process owns, once it has one."""
        found: list[Run] = []
        for path in ledger.base().glob("run-*"):
            try:
                owner = json.loads((path / OWNER).read_text())
            except (OSError, ValueError):
                continue
            if owner["pid"] == self.process.pid:
                found.append(Run(path))
        return found

    def noted(self) -> list[Entry]:
        """Everything in its ledger so far."""
        self.ledger.seek(0)
        lines = [json.loads(line) for line in self.ledger.read().splitlines() if line.endswith("}")]
        return [Entry(kind=line["kind"], name=line["name"]) for line in lines]

    def in_full_swing(self) -> None:
        """Wait until it has sandboxes running and a good many objects about."""
        until(lambda: len(self.noted()) > 40 and self.processes())
        assert self.process.poll() is None, "the run was over too early"

    def processes(self) -> set[int]:
        """Processes that carry the run, and are not the harness's own."""
        found = {process for process in psutil.process_iter() if carries(process, self.run.directory)}
        return {process.pid for process in found}

    def left(self) -> list[str]:
        """All that is left of it, in words."""
        found = [f"{entry.kind} {entry.name}" for entry in self.noted() if there(entry)]
        found += [f"process {pid}" for pid in self.processes()]
        for place in filter(os.path.isdir, PLACES):
            found += [f"{place}/{entry.name}" for entry in os.scandir(place) if self.run.name in entry.name]
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
        found += [f"mount {line}" for line in mounts if self.run.name in line]
        return [*found, str(self.run.directory)] if self.run.directory.exists() else found


def there(entry: Entry) -> bool:
    """Whether a noted thing still exists."""
    match entry.kind:
        case "path":
            return os.path.lexists(entry.name)
        case "pid":
            pid, _, begun = entry.name.partition(" ")
            try:
                return abs(psutil.Process(int(pid)).create_time() - float(begun)) < 1
            except psutil.Error:
                return False
        case "key":
            return any(int(line.split()[0], 16) == int(entry.name) for line in lines("/proc/keys"))
        case "sysv-shm" | "sysv-msg" | "sysv-sem":
            rows = lines(f"/proc/sysvipc/{entry.kind.removeprefix('sysv-')}")[1:]
            return any(row.split()[1] == entry.name for row in rows)
        case "posix-shm":
            return Path("/dev/shm", entry.name.lstrip("/")).exists()
        case "posix-mq":
            return Path("/dev/mqueue", entry.name.lstrip("/")).exists()
        case "mount":
            return any(line.split()[4] == entry.name for line in lines("/proc/self/mountinfo"))
        case other:
            raise AssertionError(f"nobody knows how to look for a {other}")


def lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines()


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "the run did not get going"
        time.sleep(0.02)


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Callable[..., Watched]]:
    begun: list[Watched] = []

    def begin(*arguments: str, name: str = "out", columns: tuple[str, ...] = ALL) -> Watched:
        begun.append(Watched(tmp_path / name, *arguments, columns=columns))
        return begun[-1]

    yield begin
    for each in begun:
        each.process.kill()
        each.process.wait()
        each.ledger.close()
    subprocess.run(
        [sys.executable, "-c", "from matrix.sweep import sweep_earlier; sweep_earlier()"], check=True
    )


def test_after_a_run_nothing_is_left(watched: Callable[..., Watched]) -> None:
    run = watched("--mechanism", "leftover-process", "--mechanism", "ipc", "--mechanism", "terminal")
    assert run.process.wait(timeout=300) in {0, 10, 11}
    assert {entry.kind for entry in run.noted()} >= {"sysv-shm", "key", "posix-mq"}
    assert run.left() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_after_an_interrupt_nothing_is_left(watched: Callable[..., Watched], number: signal.Signals) -> None:
    run = watched()
    run.in_full_swing()
    os.kill(run.process.pid, number)
    assert run.process.wait(timeout=90) == 130
    assert run.left() == []


ONLY_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may start the daemon")
KILLED = [ALL, pytest.param(("docker",), marks=ONLY_ROOT), ("unshare-usual", "bubblewrap-usual", "firejail")]


@pytest.mark.parametrize("columns", KILLED)
def test_after_a_kill_the_next_run_leaves_nothing(
    watched: Callable[..., Watched], columns: tuple[str, ...]
) -> None:
    run = watched(columns=columns)
    run.in_full_swing()
    run.process.kill()
    run.process.wait()
    assert run.left(), "the trap is not armed: a killed run left nothing"
    again = watched("--mechanism", "ipc", name="again", columns=("null", "unshare-usual"))
    assert again.process.wait(timeout=300) in {0, 10, 11}
    assert run.left() == []
    assert again.left() == []
