"""A Docker daemon of the run's own: below the run's directory, without a bridge, ended by whoever is last.

One daemon serves all processes of a run that are in the same network namespace. Its mounts are in
a mount namespace of its own, so that none is left on the machine whatever ends it. Source: dockerd(8).
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import json
import os
import socket
import subprocess
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import IO, Any

import psutil

from runners import rootfs
from runners.container import Attached
from runners.contract import StartError, default_python
from runners.local import which

CGROUP = "escape-matrix"
ANSWER = 600.0  # seconds that a request may take: a container is waited for
PATIENCE = 30.0  # seconds for the daemon to answer, or to end
_SHARED = Path("/run/containerd")  # containerd's shims put their sockets there, whatever it is told
_LAUNCH = f'mount -t tmpfs tmpfs {_SHARED} && {{ "$@" >log 2>&1 & echo $!; }}'
_FLAGS = (
    *("--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"),
    *("--userland-proxy=false", f"--cgroup-parent=/{CGROUP}"),
)


class Daemon:
    """One process's share in the daemon. `leave` must be called."""

    image = "escape-matrix:local"

    def __init__(self, run: Path) -> None:
        """Join the daemon of this run and network namespace; the first one starts it. Raises StartError."""
        self._sdk: Any = importlib.import_module("docker")
        namespace = Path("/proc/self/ns/net").stat().st_ino
        self.folder = run / f"docker-{namespace}"
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self._shared = _hold()
        self._use = (self.folder / "use.lock").open("w")
        with self._changing():
            fcntl.flock(self._use, fcntl.LOCK_SH)
            fresh = not self._listens()
            try:
                if fresh:
                    self._start()
                self.client: Any = self._sdk.DockerClient(base_url=self.host, timeout=ANSWER, num_pools=4)
                if fresh:
                    self._import_image()
            except (OSError, subprocess.CalledProcessError, self._sdk.errors.DockerException) as error:
                if fresh:
                    self._stop()
                self._let_go()
                raise StartError(f"no Docker daemon can run here: {error}{self._last_words()}") from error

    def run(self, command: Sequence[str], argv: tuple[str, ...], **keywords: Any) -> Attached:
        """Start a container through the API; `argv` is what says the same. Raises StartError."""
        created: Any = None
        try:
            created = self.client.containers.create(self.image, list(command), **keywords)
            return Attached(created, argv)
        except (OSError, self._sdk.errors.DockerException) as error:
            if created is not None:
                created.remove(force=True)
            raise StartError(f"Docker: {error}") from error

    @property
    def host(self) -> str:
        """Where it listens, as for `docker --host`."""
        return f"unix://{self.folder}/docker.sock"

    def leave(self) -> None:
        """Give the share back; the last one ends the daemon."""
        with self._changing():
            try:
                fcntl.flock(self._use, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pass  # somebody else still uses it
            else:
                self._stop()
            self._let_go()
        self.client.close()

    def _let_go(self) -> None:
        self._use.close()
        os.close(self._shared)
        tidy()

    @contextlib.contextmanager
    def _changing(self) -> Generator[IO[str]]:
        """Nobody else starts or ends it meanwhile."""
        with (self.folder / "change.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield lock

    def _listens(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            return not probe.connect_ex(str(self.folder / "docker.sock"))

    def _start(self) -> None:
        """Not as a child of ours: it may have to outlive the process that was first."""
        settings = self.folder / "daemon.json"
        settings.write_text(json.dumps({"deprecated-key-path": str(self.folder / "key.json")}))
        paths = {"config-file": "daemon.json", "data-root": "data", "exec-root": "exec", "pidfile": "pid"}
        started = subprocess.run(
            [
                *(
                    which("unshare"),
                    "--mount",
                    "--propagation",
                    "slave",
                    "--",
                    "/bin/sh",
                    "-c",
                    _LAUNCH,
                    "sh",
                ),
                *(which("dockerd"), f"--host={self.host}", *_FLAGS),
                *(f"--{name}={self.folder / path}" for name, path in paths.items()),
            ],
            cwd=self.folder,
            env={
                "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "HOME": str(self.folder),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            start_new_session=True,
        )
        if started.returncode:
            raise OSError(started.stderr.strip() or f"unshare ended with {started.returncode}")
        daemon = psutil.Process(int(started.stdout))
        deadline = time.monotonic() + PATIENCE
        while not self._listens():
            if not _runs(daemon) or time.monotonic() > deadline:
                raise OSError("dockerd ended, or does not answer")
            time.sleep(0.02)

    def _import_image(self) -> None:
        tar = self.folder / "rootfs.tar"
        rootfs.build(tar, default_python())
        name, _, tag = self.image.partition(":")
        self.client.api.import_image_from_file(str(tar), repository=name, tag=tag)
        tar.unlink()

    def _stop(self) -> None:
        """End it by its id."""
        with contextlib.suppress(OSError, ValueError, psutil.NoSuchProcess):
            daemon = psutil.Process(int((self.folder / "pid").read_text()))
            children = daemon.children(recursive=True)
            if str(self.folder) in " ".join(daemon.cmdline()):
                daemon.terminate()
                _wait([daemon, *children])

    def _last_words(self) -> str:
        with contextlib.suppress(OSError):
            lines = (self.folder / "log").read_text(errors="replace").splitlines()
            return f" ({lines[-1][-300:]})" if lines else ""
        return ""


def _hold() -> int:
    """A lock on the directory that we mount over: to remove it would unmount it for everybody."""
    while True:
        _SHARED.mkdir(mode=0o711, exist_ok=True)
        descriptor = os.open(_SHARED, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), _SHARED.stat()):
                return descriptor
        os.close(descriptor)


def tidy() -> None:
    """Remove the few empty directories that a daemon makes outside the run's, unless another uses them."""
    groups = Path("/sys/fs/cgroup")
    for made in (*groups.glob(f"*/{CGROUP}/*/"), *groups.glob(f"*/{CGROUP}")):
        with contextlib.suppress(OSError):
            made.rmdir()
    with contextlib.suppress(OSError):
        descriptor = os.open(_SHARED, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _SHARED.rmdir()
        finally:
            os.close(descriptor)


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _wait(processes: list[psutil.Process]) -> None:
    """Until they have ended; past our patience they are made to."""
    deadline = time.monotonic() + PATIENCE
    while any(_runs(process) for process in processes) and time.monotonic() < deadline:
        time.sleep(0.02)
    for process in processes:
        if _runs(process):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
