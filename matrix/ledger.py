"""The run's directory and its ledger: what must be gone when the run is.

Whatever a run makes outside its own directory is written into the ledger before it is made, so
that the next run can take it away after a `kill -9`. Lines are short appends, safe between workers.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import tempfile
from dataclasses import dataclass
from pathlib import Path

import psutil

from runners.contract import Identity

LEDGER = "ledger.jsonl"
OWNER = "owner.json"


def base() -> Path:
    """Where runs of this account live: not in /tmp, which many sandboxes replace or share."""
    root = Path("/var/tmp") if Path("/var/tmp").is_dir() else Path(tempfile.gettempdir())  # noqa: S108
    return root / f"escape-matrix-{os.geteuid()}"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One thing that a run made outside its directory."""

    kind: str
    name: str


@dataclass(frozen=True)
class Run:
    """One run, as seen by the process that owns it and by its workers."""

    directory: Path

    @classmethod
    def create(cls, identity: Identity | None = None) -> Run:
        """A fresh run directory, owned by this process, that only this account and the identity can find.

        Some launchers open every directory on the way to a workspace, so the identity may list it too.
        """
        parent = base()
        parent.mkdir(mode=0o711, exist_ok=True)
        if parent.stat().st_uid != os.geteuid() or parent.is_symlink():
            parent = Path(tempfile.mkdtemp(prefix="escape-matrix-"))
        parent.chmod(0o751)
        if os.geteuid() == 0:
            os.chown(parent, 0, identity.gid if identity else 0)
        directory = parent / f"run-{secrets.token_hex(6)}"
        directory.mkdir(mode=0o755)
        directory.chmod(0o755)
        me = psutil.Process()
        (directory / OWNER).write_text(json.dumps({"pid": me.pid, "started": me.create_time()}))
        return cls(directory)

    @property
    def name(self) -> str:
        """The run's own random name, part of every name it makes elsewhere."""
        return self.directory.name.removeprefix("run-")

    def record(self, kind: str, name: str) -> None:
        """Note a thing before it is made."""
        line = json.dumps({"kind": kind, "name": name}) + "\n"
        ledger = os.open(
            self.directory / LEDGER, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        try:
            os.write(ledger, line.encode())
        finally:
            os.close(ledger)

    def entries(self) -> list[Entry]:
        """All that was noted; a line that was cut off by a kill is passed over."""
        try:
            lines = (self.directory / LEDGER).read_text().splitlines()
        except OSError:
            return []
        found: list[Entry] = []
        for line in lines:
            try:
                entry = json.loads(line)
                found.append(Entry(kind=entry["kind"], name=entry["name"]))
            except (ValueError, KeyError, TypeError):
                continue
        return found

    def owned(self) -> bool:
        """Whether the process that made this run is still alive."""
        try:
            owner = json.loads((self.directory / OWNER).read_text())
            return abs(psutil.Process(owner["pid"]).create_time() - owner["started"]) < 1.0
        except (OSError, ValueError, KeyError, psutil.Error):
            return False


def forget_parent(run: Run) -> None:
    """Take away the directory that a run lay in, if no other run is in it."""
    with contextlib.suppress(OSError):
        run.directory.parent.rmdir()


def earlier_runs() -> list[Run]:
    """Runs of this account whose owner is gone."""
    found = [Run(path) for path in sorted(base().glob("run-*")) if path.is_dir()]
    return [run for run in found if not run.owned()]
