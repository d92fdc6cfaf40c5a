"""The workspace of one launch: the one directory a sandbox must show, and all that an attempt needs in it."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from matrix import locate, places
from matrix.ledger import Run
from matrix.transcript import Task, request
from runners.contract import Identity, Runner

KIT = ".escape-matrix"
SHARED = ("launcher", "syscalls")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENVIRONMENT = {"PATH": PATH, "LANG": "C.UTF-8"}  # what every policy grants


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """A fresh directory that the identity, and whatever uid a sandbox maps it to, may read and write."""

    directory: Path
    identity: Identity

    @classmethod
    def create(cls, run: Run, identity: Identity, name: str = "workspace") -> Workspace:
        """Below the run's directory, in a directory of its own: it can have any name and neighbours."""
        around = run.directory / f"ws-{secrets.token_hex(4)}"
        made = cls(directory=around / name, identity=identity)
        for directory in (around, made.directory, made.directory / KIT):
            directory.mkdir()
            places.own(directory, identity, 0o777)
        return made

    def corner(self, name: str) -> Path:
        """A row's own directory in it."""
        corner = self.directory / name
        corner.mkdir()
        places.own(corner, self.identity, 0o777)
        return corner

    def token(self, name: str, token: str) -> Path:
        """Lay a token where the in-sandbox launcher will read it."""
        return self._lay(f"alive-{name}", token)

    def lay(self, nonce: str, tasks: list[Task]) -> Path:
        """Lay launcher, attacks and request; gives the request's path."""
        source = locate.attacks()
        for name in {*SHARED, *(task.attack for task in tasks)}:
            if (source / f"{name}.py").exists():
                self._lay(f"{name}.py", (source / f"{name}.py").read_text())
        return self._lay("request.json", request(nonce, tasks))

    def command(self, runner: Runner, asked: Path) -> tuple[str, ...]:
        """The argv to execute inside."""
        return (runner.python(), "-I", "-S", "-B", str(asked.with_name("launcher.py")), str(asked))

    def remove(self) -> None:
        """Take it away, with its neighbours."""
        shutil.rmtree(self.directory.parent, ignore_errors=True)

    def _lay(self, name: str, content: str) -> Path:
        path = self.directory / KIT / name
        path.write_text(content)
        places.own(path, self.identity, 0o644)
        return path


def environment(identity: Identity, *more: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The environment that a launcher is started with: nothing of ours but a path and a home."""
    base = {**ENVIRONMENT, "HOME": str(identity.home)}
    for pairs in more:
        base |= dict(pairs)
    return base
