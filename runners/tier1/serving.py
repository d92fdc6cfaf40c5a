"""The proxy process as its runner has it: it is started, asked, and ends when it is let go of."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import IO, Any

from runners.contract import Denial, Egress, Proposal, StartError
from runners.tier1 import wire
from runners.tier1.addresses import Address

SECONDS = 10.0
"""For one answer, that of a process that has just begun included."""
PROGRAM = (sys.executable, "-P", "-m", "runners.tier1.serve")
_CHUNK = 1 << 16
_END = 5.0  # seconds for the process to end once it is let go of


class Serving:
    """A running proxy process, for one thread at a time. What goes wrong is a StartError that says what."""

    def __init__(self, program: Sequence[str] = PROGRAM) -> None:
        """Start the process; `start` makes it a proxy."""
        self.neighbour = ""  # URL of the neighbour's proxy; empty where there is none
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._control, theirs = socket.socketpair()
        self._control.settimeout(SECONDS)
        with theirs:
            self._process = subprocess.Popen(
                [*program, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                pass_fds=(theirs.fileno(),),
                env={"PYTHONPATH": os.pathsep.join(each for each in sys.path if each)},
            )

    @classmethod
    def start(
        cls,
        egress: Egress,
        listener: socket.socket,
        own: Iterable[Address] = (),
        program: Sequence[str] = PROGRAM,
    ) -> Serving:
        """A proxy under these lists. Raises StartError.

        `listener` is taken over: a listening socket, or a Unix socket on which one arrives by SCM_RIGHTS once
        its sandbox is there. `own` are the node's own addresses, which no list opens.
        """
        with listener:
            made = cls(program)
            try:
                asked = {"egress": wire.plain(egress), "own": [str(each) for each in own]}
                made.neighbour = made.ask("start", listener.fileno(), **asked)
            except BaseException:
                made.close()
                raise
        return made

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def renew(self, egress: Egress) -> None:
        """Begin anew under these lists, as a proxy that has just been started. Raises StartError."""
        self.neighbour = self.ask("renew", egress=wire.plain(egress))

    def change(self, egress: Egress) -> tuple[str, ...]:
        """Put these lists in force, or say why they are refused whole. Raises StartError."""
        return tuple(self.ask("change", egress=wire.plain(egress)))

    def denials(self) -> tuple[Denial, ...]:
        """The records since the lists were last renewed, oldest first. Raises StartError."""
        return tuple(wire.denial(each) for each in self.ask("denials"))

    def proposals(self) -> tuple[Proposal, ...]:
        """What would allow what was refused. Raises StartError."""
        return tuple(wire.proposal(each) for each in self.ask("proposals"))

    def dials(self) -> tuple[str, ...]:
        """The addresses dialled, "address:port" each. Raises StartError."""
        return tuple(self.ask("dials"))

    def log(self) -> str:
        """The node's log: one JSON object a line. Raises StartError."""
        return str(self.ask("log"))

    def ask(self, do: str, descriptor: int = -1, **facts: object) -> Any:
        """The process' answer. Raises StartError where there is none, or it says that it cannot."""
        line = json.dumps({"do": do, **facts}).encode() + b"\n"
        try:
            if descriptor >= 0:
                sent = socket.send_fds(self._control, [line], [descriptor])
                line = line[sent:]
            self._control.sendall(line)
            answer = json.loads(self._line())
        except TimeoutError:
            raise StartError(
                f"the proxy (pid {self.pid}) did not answer '{do}' within {SECONDS:g} s"
            ) from None
        except OSError as error:
            raise StartError(self._gone(do, error)) from error
        if "error" in answer:
            raise StartError(f"the proxy (pid {self.pid}) cannot {do}: {answer['error']}")
        return answer["ok"]

    def close(self) -> None:
        """Let go of the process, and see it end. May be called again."""
        self._control.close()
        try:
            self._process.wait(_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()

    def _line(self) -> bytes:
        parts: list[bytes] = []
        while not (parts and parts[-1].endswith(b"\n")):
            data = self._control.recv(_CHUNK)
            if not data:
                raise ConnectionResetError("it has ended")
            parts.append(data)
        return b"".join(parts)

    def _gone(self, do: str, error: OSError) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END)
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip().splitlines()
        why = said[-1] if said else str(error)
        return (
            f"the proxy (pid {self.pid}, exit code {self._process.returncode}) did not answer '{do}': {why}"
        )
