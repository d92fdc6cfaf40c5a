"""Hiding and protecting single paths of the workspace by mounting over them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from runners.contract import Expressible, Inexpressible, Launch, Policy


def existing(policy: Policy) -> Expressible | Inexpressible:
    """Whether every path is there, for a sandbox that passes over what is not."""
    for path in (*policy.hidden, *policy.protected):
        if not path.exists():
            why = f"{path.name!r} does not exist, and only what does can be hidden or protected"
            return Inexpressible(why)
    return Expressible()


def empty_file(launch: Launch) -> Path:
    """A file of ours with nothing in it and no permission for anybody, to be mounted over another."""
    path = launch.run / "nothing-to-see"
    path.touch(mode=0o000, exist_ok=True)
    return path


def read_only(launch: Launch) -> Iterator[tuple[Path, Path]]:
    """(source, target) of each read-only bind mount that protects; over a missing name, an empty file.

    Whether the mount point that the sandbox then makes is made in the right place is its own affair.
    """
    for path in launch.policy.protected:
        yield (path if path.exists() else empty_file(launch)), path


def covered(launch: Launch) -> Iterator[tuple[Path | None, Path]]:
    """(source, target) of each mount that hides; without a source, an empty directory.

    They come after the protecting ones, as a protected directory may hold a hidden path.
    """
    for path in launch.policy.hidden:
        yield (empty_file(launch) if path.is_file() else None), path
