"""One proxy process of our own on loopback: started, told other lists, ended, and gone with the harness."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from runners.contract import StartError
from runners.tier1.entries import Entry

GUARD = Path(__file__).with_name("guard.py")
PATIENCE = 30.0  # seconds for a proxy to answer, or to end
MOST = 1 << 16  # bytes of each log that are given
PORTS = range(3128, 3628)  # below those that the system gives to outgoing connections
LOGS = ("said", "log", "access")  # what it prints, what it writes about itself, what it writes about requests
LABEL = "[a-z0-9_]([-a-z0-9_]{0,61}[a-z0-9_])?"
"""One label of a name, for proxies that are told of names by POSIX expressions."""

_ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
_HELLO = b"OPTIONS * HTTP/1.0\r\n\r\n"  # names no host, so that whatever the answer is, nothing is dialled


@dataclass(frozen=True, kw_only=True)
class Told:
    """What a proxy is told. The lists are read: no text of an entry's own reaches a configuration."""

    manifest: tuple[Entry, ...] = ()
    tenant: tuple[Entry, ...] = ()
    resolver: tuple[str, int] = ("127.0.0.1", 53)


@dataclass(frozen=True, kw_only=True)
class Site:
    """Where one proxy runs."""

    folder: Path  # its own, for configuration and logs
    port: int  # on 127.0.0.1
    secret: str  # 32 hexadecimal digits that only its client is told


class Kind(Protocol):
    """How one kind of proxy is configured and run."""

    signal: int  # makes it read its lists again; 0: it does so by itself, at every request
    re_read: str  # what its log says, once more each time, when it has begun to

    def configuration(self, site: Site, told: Told) -> Mapping[str, str]:
        """Its files, by name, in the site's folder."""
        ...

    def refuses(self, folder: Path) -> str:
        """Why the program itself takes no files like those in this folder; empty where it would."""
        ...

    def program(self, site: Site) -> tuple[str, ...]:
        """What runs it in the foreground."""
        ...

    def leaves(self, site: Site) -> tuple[str, ...]:
        """Files that it makes outside the site's folder, and leaves there when it is ended at once."""
        ...


class Server:
    """One proxy at one port, whichever process stands behind it. `end` must be called."""

    def __init__(self, kind: Kind, folder: Path, secret: str) -> None:
        self.site = Site(folder=folder, port=_free_port(), secret=secret)
        self._kind = kind
        self._guard: subprocess.Popen[bytes] | None = None

    def start(self, told: Told) -> None:
        """A fresh process, with nothing of an earlier one's. Raises StartError."""
        self.end()
        folder = self.site.folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        self._lay(folder, told)
        with (folder / "said").open("wb") as said:
            self._guard = subprocess.Popen(
                self._guarded(),
                stdin=subprocess.PIPE,
                bufsize=0,
                stdout=said,
                stderr=said,
                cwd=folder,
                env={**_ENVIRONMENT, "HOME": str(folder), "TMPDIR": str(folder)},
                start_new_session=True,
            )
        self._wait("answers", self._answers)

    def change(self, told: Told) -> str:
        """Tell the running process other lists; gives why it takes none of them. Raises StartError."""
        site, kind = self.site, self._kind
        fresh = site.folder / "next"
        fresh.mkdir()
        self._lay(fresh, told)
        why = kind.refuses(fresh)
        before = self._times_read()
        for path in fresh.iterdir():
            if why:
                path.unlink()
            else:
                path.replace(site.folder / path.name)
        fresh.rmdir()
        if not why and kind.signal:
            self._tell(kind.signal)
            self._wait("reads its lists again", lambda: self._times_read() > before)
            self._wait("answers", self._answers)  # it does not before it has read them
        return why

    def log(self) -> str:
        """The ends of what it has written since it was started."""
        written: list[str] = []
        for name in LOGS:
            with contextlib.suppress(OSError), (self.site.folder / name).open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - MOST))
                written.append(log.read().decode(errors="replace"))
        return "".join(written)

    def end(self) -> None:
        """No process of it is left."""
        if self._guard is None:
            return
        guard, self._guard = self._guard, None
        assert guard.stdin  # noqa: S101 - a pipe, as it was asked for
        guard.stdin.close()
        try:
            guard.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            guard.kill()
            guard.wait()

    def _guarded(self) -> tuple[str, ...]:
        guard = (sys.executable, "-I", "-S", str(GUARD), *self._kind.leaves(self.site))
        return (*guard, "--", *self._kind.program(self.site))

    def _lay(self, folder: Path, told: Told) -> None:
        for name, text in self._kind.configuration(self.site, told).items():
            (folder / name).write_text(text)

    def _tell(self, signal: int) -> None:
        if self._guard and self._guard.stdin:
            with contextlib.suppress(BrokenPipeError):  # it has ended: the next wait says so
                self._guard.stdin.write(bytes([signal]))

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.site.port), timeout=PATIENCE) as probe:
                probe.sendall(_HELLO)
                return bool(probe.recv(1))
        except OSError:
            return False

    def _times_read(self) -> int:
        text = self._kind.re_read.encode()
        logs = (self.site.folder / name for name in LOGS)
        return sum(path.read_bytes().count(text) for path in logs if path.exists())

    def _wait(self, what: str, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not holds():
            ended = self._guard.poll() if self._guard else 0
            if ended is not None or time.monotonic() > deadline:
                last = " / ".join(self.log().strip().splitlines()[-3:])[-500:]
                self.end()
                how = f"ended with {ended} before it" if ended is not None else f"in {PATIENCE:.0f} s never"
                raise StartError(
                    f"{self._kind.program(self.site)[0]} {how} {what}: {last or 'it said nothing'}"
                )
            time.sleep(0.005)


def _free_port() -> int:
    """A port on loopback that nobody listens at. Raises StartError."""
    for port in PORTS:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise StartError(f"no port from {PORTS.start} to {PORTS.stop - 1} is free on loopback")
