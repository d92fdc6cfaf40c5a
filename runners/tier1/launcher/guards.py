"""The paths of the workspace that the policy hides or protects, and the mounts that do so.

A mount is made at a path, and whoever can change the workspace can change what the path means. So a path
is looked at step by step before anything is made, a link on the way is declined, a missing name is created
here and not by who follows links, and every directory on the way becomes a mount, which cannot be renamed.
Sources: bwrap(1), rename(2) EBUSY, CVE-2026-87766, CVE-2026-25725.
"""

from __future__ import annotations

import os
import stat
from typing import Iterable, Sequence


class Declined(Exception):  # noqa: N818 - it is an answer, not a failure of ours
    """The policy cannot be kept in this workspace; the text says why, and what to do."""


def within(path: str, folder: str) -> bool:
    """Whether a path is that folder or lies below it."""
    return path == folder or path.startswith(folder + os.sep)


def below(path: str, folders: Iterable[str]) -> bool:
    """Whether a path is one of those folders or lies below one."""
    return any(within(path, folder) for folder in folders)


def outermost(paths: Sequence[str]) -> list[str]:
    """Without what lies below another of them, and each once."""
    once = list(dict.fromkeys(paths))
    return [path for path in once if not below(path, [other for other in once if other != path])]


def secure(workspace: str, path: str, *, directory: bool) -> None:
    """Make sure that `path` is there and reached without a link; create what is missing. Raises Declined.

    What is missing becomes an empty directory, or an empty file for the last name if not `directory`.
    """
    if path == workspace or not within(path, workspace):
        raise Declined("%s is not below the workspace %s: name a path in it" % (path, workspace))
    steps = os.path.relpath(path, workspace).split("/")
    at = os.open(workspace, os.O_PATH | os.O_DIRECTORY)
    try:
        for name in steps[:-1]:
            make(at, name, path, directory=True)
            inner = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = inner
        make(at, steps[-1], path, directory=directory)
    except OSError as error:
        raise Declined("%s cannot be guarded: %s" % (path, error.strerror)) from error
    finally:
        os.close(at)


def make(at: int, name: str, path: str, *, directory: bool) -> None:
    """Create a name of the open directory `at` where it is missing; a link is declined."""
    try:
        mode = os.stat(name, dir_fd=at, follow_symlinks=False).st_mode
    except FileNotFoundError:
        if directory:
            os.mkdir(name, 0o755, dir_fd=at)
        else:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            os.close(os.open(name, flags, 0o444, dir_fd=at))
        return
    if stat.S_ISLNK(mode):
        why = "%s cannot be guarded: %s is a link, which may lead anywhere; name what it leads to"
        raise Declined(why % (path, name))


def pins(workspace: str, protected: Sequence[str], hidden: Sequence[str]) -> list[str]:
    """The directories between the workspace and a guarded path, the upper ones first.

    None where its renaming is out of the question already: in a protected or a hidden directory.
    """
    closed = [*protected, *hidden]
    found: set[str] = set()
    for path in closed:
        folder = os.path.dirname(path)
        while folder != workspace and within(folder, workspace):
            if not below(folder, closed):
                found.add(folder)
            folder = os.path.dirname(folder)
    return sorted(found, key=lambda folder: (folder.count(os.sep), folder))


def covers(path: str, empty: str) -> list[str]:
    """What is mounted over a path so that nothing of it is seen: arguments for bwrap."""
    if os.path.isdir(path):
        return ["--tmpfs", path, "--remount-ro", path]
    return ["--ro-bind", empty, path]


def arguments(
    workspace: str, protected: Sequence[str], hidden: Sequence[str], empty: str, *, pinned: bool
) -> tuple[list[str], list[str]]:
    """Secure every path; (mounts, in the order in which they must be made; the paths). Raises Declined."""
    hidden = outermost(hidden)
    protected = [path for path in outermost(protected) if not below(path, hidden)]
    for path in protected:
        secure(workspace, path, directory=False)
    for path in hidden:
        secure(workspace, path, directory=True)
    mounts: list[str] = []
    for folder in pins(workspace, protected, hidden) if pinned else []:
        mounts += ["--bind", folder, folder]
    for path in protected:
        mounts += ["--ro-bind", path, path]
    for path in hidden:
        mounts += covers(path, empty)
    return mounts, [*protected, *hidden]
