"""Where a witness may plant outside the workspace: a fresh directory of the identity's, by place."""

from __future__ import annotations

import itertools
import os
import subprocess
from pathlib import Path

from matrix.ledger import Run
from matrix.witnesses.contract import Unplantable
from runners.contract import Identity

ROOT_OWNED = Path("/srv")  # owned by root on every Linux, and no part of a usual read-only runtime
_count = itertools.count()


def fresh(run: Run, identity: Identity, place: str) -> Path:
    """A new directory in that place, owned by the identity. Raises Unplantable with the reason."""
    parent = _parent(run, identity, place)
    directory = (
        parent
        / f"{'' if parent == run.directory else '.'}escape-matrix-{run.name}-{os.getpid()}-{next(_count)}"
    )
    if run.directory not in directory.parents:
        run.record("path", str(directory))
    try:
        directory.mkdir(mode=0o777)
    except OSError as error:
        raise Unplantable(f"cannot plant in {parent}: {error.strerror}") from error
    own(directory, identity, 0o777)
    return directory


def own(path: Path, identity: Identity, mode: int) -> None:
    """Give a path to the identity, open to whatever uid a sandbox maps it to."""
    if os.geteuid() == 0:
        os.chown(path, identity.uid, identity.gid)
    path.chmod(mode)


def hindrance(identity: Identity, place: str) -> str:
    """Why nothing can be planted in that place here; empty where nothing known stands against it."""
    root = os.geteuid() == 0
    match place:
        case "dev-shm" if not Path("/dev/shm").is_dir():  # noqa: S108
            return "there is no /dev/shm"
        case "run" if not root and not _runtime(identity).is_dir():
            return f"{identity.name} has no runtime directory in /run/user"
        case "root-owned" if not root:
            return f"only root can plant in {ROOT_OWNED}"
        case "root-owned" if not ROOT_OWNED.is_dir():
            return f"there is no {ROOT_OWNED}"
        case "second-mount" if not root:
            return "only root can make a second mount"
        case _:
            return ""


def _parent(run: Run, identity: Identity, place: str) -> Path:
    if why := hindrance(identity, place):
        raise Unplantable(why)
    match place:
        case "beside":
            return run.directory
        case "home":
            return identity.home
        case "tmp":
            return Path("/tmp")  # noqa: S108
        case "var-tmp":
            return Path("/var/tmp")  # noqa: S108
        case "dev-shm":
            return Path("/dev/shm")  # noqa: S108
        case "run":
            return Path("/run") if os.geteuid() == 0 else _runtime(identity)
        case "root-owned":
            return ROOT_OWNED
        case "second-mount":
            return _second_mount(run)
        case _:
            raise Unplantable(f"unknown place {place!r}")


def _runtime(identity: Identity) -> Path:
    return Path(f"/run/user/{identity.uid}")


def _second_mount(run: Run) -> Path:
    """A tmpfs of the run's own, mounted once."""
    mount = run.directory / "second-mount"
    if mount.is_mount():
        return mount
    mount.mkdir(exist_ok=True)
    run.record("mount", str(mount))
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m,mode=755", "escape-matrix", str(mount)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Unplantable(f"cannot mount a tmpfs: {done.stderr.strip()}")
    return mount
