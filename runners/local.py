"""What runners of one kind have in common: their sandbox is started by one local program."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from runners import process
from runners.contract import (
    ARGV_CHANNELS,
    Channel,
    Expressible,
    Found,
    Identity,
    Inexpressible,
    Launch,
    Missing,
    Policy,
    Running,
    default_python,
)

BESIDE_PATH = ("/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/bin", "/bin")


class Local:
    """Answers that are the same for every sandbox that one local process stands for."""

    OPTIONS: ClassVar[Mapping[str, Any]] = {"type": "object", "additionalProperties": False}
    channels: frozenset[Channel] = ARGV_CHANNELS

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = options

    def find(self, identity: Identity) -> Found | Missing:
        """Always there, unless a runner says otherwise."""
        del identity
        return Found("nothing to find")

    def express(self, policy: Policy) -> Expressible | Inexpressible:
        """A sandbox in whose language nothing can be hidden or protected, unless a runner says otherwise."""
        if asked := (*policy.hidden, *policy.protected):
            return Inexpressible(f"no way to single out {asked[0].name!r} inside the workspace")
        return Expressible()

    def argv(self, launch: Launch) -> tuple[str, ...]:
        """What starts this launch."""
        raise NotImplementedError

    def environment(self, launch: Launch) -> Mapping[str, str]:
        """The launcher's own: the caller's, and what the policy grants, as a caller exports it."""
        return {**launch.environment, **launch.policy.environment}

    def start(self, launch: Launch) -> Running:
        """One process. Raises StartError."""
        return process.start(launch, self.argv(launch), self.environment(launch))

    def python(self) -> str:
        """The system's interpreter."""
        return default_python()

    def close(self) -> None:
        """There is no service to end."""


def which(program: str) -> str:
    """Where a program is, also in the directories that an ordinary PATH leaves out; itself if nowhere."""
    path = os.pathsep.join((os.environ.get("PATH", ""), *BESIDE_PATH))
    return shutil.which(program, path=path) or program


def find(program: str, identity: Identity, fix: str, ask: str = "--version") -> Found | Missing:
    """The program with the first line of what it says when asked for its version, or what is missing."""
    path = which(program)
    if not Path(path).is_absolute() or not Path(path).exists():
        return Missing(f"{program} is not installed", fix)
    if not reaches(identity, Path(path)):
        return Missing(
            f"{identity.name} may not execute {path}", f"make {path} and its directories open to all"
        )
    try:
        answer = subprocess.run(
            [path, ask],
            capture_output=True,
            errors="replace",
            check=False,
            timeout=20,
            stdin=subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},  # it has its own
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Missing(f"{path} {ask}: {error}", fix)
    lines = (answer.stdout or answer.stderr).strip().splitlines()
    return Found(lines[0] if lines else f"{program}, no version", path)


def reaches(identity: Identity, path: Path) -> bool:
    """Whether the account may execute that file, by the modes on the way to it."""
    if identity.root:
        return path.exists()
    return all(_may_execute(identity, step) for step in (path.resolve(), *path.resolve().parents))


def _may_execute(identity: Identity, path: Path) -> bool:
    found = path.stat()
    if found.st_uid == identity.uid:
        return bool(found.st_mode & 0o100)
    if found.st_gid in {identity.gid, *identity.groups}:
        return bool(found.st_mode & 0o010)
    return bool(found.st_mode & 0o001)
