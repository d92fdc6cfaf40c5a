"""Leaves nothing of a run behind: processes, mounts, shared objects, files, its directory.

A sandbox may have cleared a survivor's environment, so survivors are known by the run's directory,
which has a random name, in their working directory, arguments or mounts. Only processes that carry
it are ended, one by one, by their id.
"""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from matrix.ledger import Entry, Run, earlier_runs, forget_parent
from matrix.witnesses import kernel_keys, realtime

FILES = 8192  # open files
PATIENCE = 10.0  # seconds that a process may take to end
IPC_RMID = 0
PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ended, so that none gets out of sight."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def raise_limit() -> None:
    """Allow this process as many open files as a batch's witnesses need; never more than the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def sweep(run: Run) -> list[str]:
    """Take away all that the run left; gives what would not go, empty when all is gone."""
    stuck = [*_end(_recorded(run)), *_end(_survivors(run))]
    for entry in reversed(run.entries()):
        if (action := _ACTIONS.get(entry.kind)) is not None:
            try:
                action(entry)
            except OSError as error:  # the others are taken away all the same
                stuck.append(f"{entry.kind} {entry.name}: {error.strerror}")
    stuck += _unmount(run.directory)
    stuck += _end(_survivors(run))
    shutil.rmtree(run.directory, ignore_errors=True)
    forget_parent(run)
    reap()
    if run.directory.exists():
        stuck.append(f"{run.directory} could not be removed")
    return stuck


def reap() -> None:
    """Bury adopted orphans that have ended; where pid 1 does not, they would stay as zombies."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def sweep_earlier() -> list[str]:
    """Sweep the runs of this account whose owner is gone, as after a kill -9."""
    return [left for run in earlier_runs() for left in sweep(run)]


def _end(processes: Iterator[psutil.Process]) -> list[str]:
    """Ask, then make them end."""
    asked = list(processes)
    for process in asked:
        _signal(process.terminate)
    _, alive = psutil.wait_procs(asked, timeout=PATIENCE / 2)
    for process in alive:
        _signal(process.kill)
    _, stuck = psutil.wait_procs(alive, timeout=PATIENCE / 2)
    return [f"process {process.pid} does not end" for process in stuck]


def _signal(send: Callable[[], None]) -> None:
    try:
        send()
    except psutil.Error:
        return


def _recorded(run: Run) -> Iterator[psutil.Process]:
    """Processes that the run noted, if the number still means the same process."""
    for entry in run.entries():
        if entry.kind != "pid":
            continue
        pid, _, started = entry.name.partition(" ")
        try:
            process = psutil.Process(int(pid))
            if abs(process.create_time() - float(started)) < 1.0:
                yield process
        except (psutil.Error, ValueError):
            continue


def _survivors(run: Run) -> Iterator[psutil.Process]:
    """Processes that carry the run's directory, but for this one and those it descends from."""
    me = psutil.Process()
    spared = {me.pid, *(parent.pid for parent in me.parents())}
    for process in psutil.process_iter():
        if process.pid not in spared and carries(process, run.directory):
            yield process


def carries(process: psutil.Process, directory: Path) -> bool:
    """Whether a process works in, was started with, or has mounted the run's directory."""
    name = str(directory)
    try:
        if any(name in argument for argument in process.cmdline()):
            return True
    except psutil.Error:
        return False
    try:
        if process.cwd().startswith(name):
            return True
    except (psutil.Error, OSError):
        pass
    return sys.platform == "linux" and _mounts(process.pid, name)


def _mounts(pid: int, name: str) -> bool:
    """Whether it has a mount of ours in a mount namespace other than this process's own."""
    try:
        if os.readlink(f"/proc/{pid}/ns/mnt") == os.readlink("/proc/self/ns/mnt"):
            return False
        lines = Path(f"/proc/{pid}/mountinfo").read_text().splitlines()
    except OSError:
        return False
    # Every namespace made from ours has a copy of the second mount, so that one proves nothing.
    return any(name in line and f"{name}/second-mount" not in line for line in lines)


def _unmount(directory: Path) -> list[str]:
    """Everything mounted below the directory, the deepest first."""
    if sys.platform != "linux":
        return []
    for mounted in sorted(_mounted(directory), key=len, reverse=True):
        subprocess.run(["umount", "-l", mounted], check=False, capture_output=True)
    deadline = time.monotonic() + 2
    while (left := _mounted(directory)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return [f"{mounted} is still mounted" for mounted in left]


def _mounted(directory: Path) -> list[str]:
    points = (line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines())
    return [point for point in points if point.startswith(f"{directory}/")]


def _remove(entry: Entry) -> None:
    """A path outside the run's directory; its name has the run's random name in it."""
    path = Path(entry.name)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _ipc(call: str) -> Callable[[Entry], None]:
    def remove(entry: Entry) -> None:
        libc = ctypes.CDLL(None)
        arguments = (int(entry.name), 0, IPC_RMID) if call == "semctl" else (int(entry.name), IPC_RMID, None)
        getattr(libc, call)(*arguments)

    return remove


def _unless_gone(forget: Callable[[str], None]) -> Callable[[Entry], None]:
    def remove(entry: Entry) -> None:
        with suppress(OSError):
            forget(entry.name)

    return remove


_ACTIONS: dict[str, Callable[[Entry], None]] = {
    "path": _remove,
    "sysv-shm": _ipc("shmctl"),
    "sysv-msg": _ipc("msgctl"),
    "sysv-sem": _ipc("semctl"),
    "posix-shm": _unless_gone(realtime.forget_memory),
    "posix-mq": _unless_gone(realtime.forget_queue),
    "key": _unless_gone(lambda number: kernel_keys.forget(int(number))),
}
