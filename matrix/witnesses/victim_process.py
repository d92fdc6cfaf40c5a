"""Our handle on a victim process: start it, ask it, hear its reports, end it."""

from __future__ import annotations

import os
import secrets
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from matrix.witnesses import victim_program
from matrix.witnesses.contract import Ground, Unplantable
from runners.contract import default_python

START = 10.0  # seconds that it may take to start
ANSWER = 0.2  # seconds that an answer may take; a victim under a debugger gives none


class Victim:
    """One victim, with the row's identity, at work in `folder`."""

    def __init__(self, ground: Ground, folder: Path, canary: Mapping[str, str]) -> None:
        self.marker = f"esc-victim-{secrets.token_hex(8)}"
        self.limit = secrets.randbelow(1 << 60)
        soft = secrets.randbelow(1 << 60)
        self.locks = (soft, soft + 1 + secrets.randbelow(1 << 60))
        self.signals: list[dict[str, int]] = []
        self._lines, self._complaint = b"", ""
        self._popen = self._start(ground, folder, canary)
        self.pid = self._popen.pid
        try:
            ground.record("pid", f"{self.pid} {psutil.Process(self.pid).create_time()}")
            self._hold(canary)
        except BaseException:
            self.close()
            raise

    def _start(self, ground: Ground, folder: Path, canary: Mapping[str, str]) -> subprocess.Popen[bytes]:
        program = folder / "victim.py"  # a copy: the account may not reach the harness's own files
        shutil.copyfile(victim_program.__file__, program)
        ground.own(program, 0o644)
        # Platform binaries of macOS hide their environment and refuse debuggers, whatever the sandbox.
        python = sys.executable if sys.platform == "darwin" else default_python()
        other = os.geteuid() == 0 and not ground.identity.root
        return subprocess.Popen(
            [python, "-I", "-S", program, self.marker, *([canary["argv"]] if "argv" in canary else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={"ESC_CANARY": canary["environ"]} if "environ" in canary else {},
            start_new_session=True,  # leads a process group that nobody else is in
            user=ground.identity.uid if other else None,
            group=ground.identity.gid if other else None,
            extra_groups=ground.identity.groups if other else None,
        )

    def _hold(self, canary: Mapping[str, str]) -> None:
        wanted = {
            "cell": canary.get("cell", "as planted"),
            "descriptor": canary.get("descriptor", "nothing"),
            "mapping": canary.get("mapping", ""),
            "limit": self.limit,
            "soft": self.locks[0],
            "hard": self.locks[1],
        }
        self._write("\t".join(f"{key}={value}" for key, value in wanted.items()))
        ready = self._await("ready", START)
        if ready is None:
            raise Unplantable(f"the victim process did not start; it said: {self._complaint or 'nothing'}")
        self.address, self.descriptor = int(ready["ready"]), int(ready["held"])

    def _write(self, line: str) -> None:
        if self._popen.stdin is not None:
            with suppress(OSError):  # it is gone, which its silence will show
                self._popen.stdin.write(line.encode() + b"\n")
                self._popen.stdin.flush()

    def ask(self, command: str) -> Mapping[str, str]:
        """What it holds after this command; empty where it does not answer."""
        self._write(command)
        return self._await("cell", ANSWER) or {}

    def listen(self, seconds: float = 0.0) -> list[dict[str, int]]:
        """All signals reported so far; waits for another one where `seconds` are given."""
        self._await("signal" if seconds else "", seconds)
        return self.signals

    def _await(self, key: str, seconds: float) -> Mapping[str, str] | None:
        """The next line that has that key; None after so many seconds, or when it has ended."""
        end = time.monotonic() + seconds
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._out, selectors.EVENT_READ)
            while True:
                while (found := self._line()) is not None:
                    if key in found:
                        return found
                if not waiting.select(max(0.0, end - time.monotonic())):
                    return None
                if not (data := os.read(self._out, 65536)):
                    return None
                self._lines += data

    @property
    def _out(self) -> int:
        return self._popen.stdout.fileno() if self._popen.stdout else -1

    def _line(self) -> Mapping[str, str] | None:
        """The next whole line, None where none has come; signals are kept."""
        line, newline, rest = self._lines.partition(b"\n")
        if not newline:
            return None
        self._lines = rest
        found = victim_program.parse(line)
        if "signal" in found:
            self.signals.append({key: int(value) for key, value in found.items()})
        elif not found:
            self._complaint = line.decode("utf-8", "replace")  # an interpreter that cannot start
        return found

    def gone(self) -> str:
        """How it ended, empty while it lives."""
        code = self._popen.poll()
        return "" if code is None else f"the victim process has ended ({code})"

    def close(self) -> None:
        """End it; it may be stopped, so nothing gentler would do."""
        if self._popen.poll() is None:
            self._popen.send_signal(signal.SIGKILL)
        self._popen.wait()
        for stream in (self._popen.stdin, self._popen.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
