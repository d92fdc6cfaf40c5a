"""Names that lead out of the sandbox although no link does: hard links, sockets, pipes, devices.

A hard link is the outside file itself; through a socket's or a pipe's name whoever listens outside is
reached, and no mount option and no namespace is in between. What is found before the start is covered.
What is shown beside the workspace cannot be written, but a socket there can be connected, a pipe filled.
Nothing inside can add to it: a hard link is made within one mount only, and nobody outside is inside.
Sources: linkat(2) EXDEV, unix(7), multikernel/sandlock#179, landlock-lsm/linux#57.
"""

from __future__ import annotations

import os
import stat
from typing import Dict, List, Sequence, Tuple

from guards import Declined, below

MOST = 1000  # names that can be covered; bwrap takes 9000 words

TOO_MANY_SHOWN = "%d sockets, pipes and devices in what is shown, the first is %s: show less"
TOO_MANY = (
    "%d names in the workspace lead out of it, the first is %s: hard links are files outside too, as package "
    "managers make them from a store; copy them (cp -a --reflink=auto), or keep them (--keep-links)"
)

Shared = Dict[Tuple[int, int], Tuple[int, List[str]]]
"""Files that have several names: (device, inode) → (how many, those found in the workspace)."""


def arguments(
    workspace: str, protected: Sequence[str], hidden: Sequence[str], empty: str, *, links: bool
) -> list[str]:
    """Mounts over every such name: arguments for bwrap. `links`: cover hard links that lead out, too.

    Raises Declined where a directory cannot be looked through, or the names are too many.
    """
    shared, others = look(workspace)
    covered = [path for path in others if not below(path, hidden)]
    frozen: list[str] = []
    for count, names in shared.values():
        plain = [name for name in names if not below(name, [*protected, *hidden])]
        if any(below(name, hidden) for name in names) or (links and len(names) < count):
            covered += plain
        elif len(plain) < len(names):
            frozen += plain  # a second name of what is protected
    if len(covered) + len(frozen) > MOST:
        raise Declined(TOO_MANY % (len(covered) + len(frozen), min(covered + frozen)))
    mounts: list[str] = []
    for path in sorted(covered):
        mounts += ["--ro-bind", empty, path]
    for path in sorted(frozen):
        mounts += ["--ro-bind", path, path]
    return mounts


def beside(shown: Sequence[str], empty: str) -> list[str]:
    """Mounts over sockets, pipes and devices below what is shown: arguments for bwrap. Raises Declined.

    One that is itself what is shown is meant.
    """
    covered = sorted(path for folder in shown if os.path.isdir(folder) for path in look(folder)[1])
    if len(covered) > MOST:
        raise Declined(TOO_MANY_SHOWN % (len(covered), covered[0]))
    return [word for path in covered for word in ("--ro-bind", empty, path)]


def look(workspace: str) -> tuple[Shared, list[str]]:
    """The files with several names, and the names that are neither file nor directory nor symbolic link."""
    shared: Shared = {}
    others: list[str] = []
    folders = [workspace]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as entries:
                found = [(entry.path, entry.stat(follow_symlinks=False)) for entry in entries]
        except FileNotFoundError:
            continue  # gone meanwhile
        except PermissionError:
            pass_over(folder)
            continue
        for path, status in found:
            if stat.S_ISDIR(status.st_mode):
                folders.append(path)
            elif stat.S_ISREG(status.st_mode):
                if status.st_nlink > 1:
                    key = (status.st_dev, status.st_ino)
                    shared.setdefault(key, (status.st_nlink, []))[1].append(path)
            elif not stat.S_ISLNK(status.st_mode):
                others.append(path)
    return shared, others


def pass_over(folder: str) -> None:
    """A directory that is closed to us is closed to the command, which is the same account; else Declined."""
    if os.access(folder, os.X_OK) or os.stat(folder).st_uid == os.geteuid():
        raise Declined("%s cannot be looked through for what leads out: make it readable" % folder)
