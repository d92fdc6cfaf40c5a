"""Hiding and protecting single paths of the workspace by mounting over them."""

from __future__ import annotations

from pathlib import Path

from runners.contract import Expressible, Inexpressible, Launch, Policy


def mountable(policy: Policy) -> Expressible | Inexpressible:
    """Whether mounts can say it: a mount covers what is there, and follows a link to what it names."""
    for path in (*policy.hidden, *policy.protected):
        if path.is_symlink():
            return Inexpressible(f"{path.name} is a link: a mount would cover what it points to")
        if not path.exists():
            return Inexpressible(f"{path.name} does not exist: a mount would create it outside")
    return Expressible()


def empty_file(launch: Launch) -> Path:
    """A file of ours with nothing in it and no permission for anybody, to be mounted over a hidden file."""
    path = launch.run / "nothing-to-see"
    path.touch(mode=0o000, exist_ok=True)
    return path
