"""What a file or a directory looks like from outside, as facts that can be compared.

The path shows what a person or program would find afterwards (also when something else was moved
there); the descriptor shows the very file that was planted, wherever it went.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

CONTENT = 65536  # bytes compared

Facts = Mapping[str, object]


def portrait(where: Path | int, *, ctime: bool = False) -> Facts:
    """By path, without following a link at its end, or by an open descriptor; empty where nothing is."""
    try:
        status = os.fstat(where) if isinstance(where, int) else os.lstat(where)
        return {
            "inode": (status.st_dev, status.st_ino),
            "mode": oct(status.st_mode),
            "owner": (status.st_uid, status.st_gid),
            "links": status.st_nlink,
            "size": status.st_size,
            "mtime": status.st_mtime_ns,
            **({"ctime": status.st_ctime_ns} if ctime else {}),
            "content": _content(where, status.st_mode),
            "attributes": _attributes(where),
        }
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except PermissionError:  # it could be looked at before, so this is a difference too
        return {"readable": False}


def _content(where: Path | int, mode: int) -> object:
    if stat.S_ISDIR(mode):
        return sorted(os.listdir(where))
    if isinstance(where, int):
        return os.pread(where, CONTENT, 0) if stat.S_ISREG(mode) else None
    if stat.S_ISLNK(mode):
        return str(where.readlink())
    if not stat.S_ISREG(mode):
        return None
    with where.open("rb") as file:
        return file.read(CONTENT)


def _attributes(where: Path | int) -> object:
    """Extended attributes of the user's; macOS has no call for them in Python."""
    if not hasattr(os, "listxattr"):
        return None
    follow = isinstance(where, int)
    try:
        names = [name for name in os.listxattr(where, follow_symlinks=follow) if name.startswith("user.")]
        return {name: os.getxattr(where, name, follow_symlinks=follow) for name in names}
    except OSError:  # a file system without them
        return None


def differences(before: Facts, now: Facts) -> list[str]:
    """What changed, in words."""
    if before and not now:
        return ["it is gone"]
    if now and not before:
        return ["it is new"]
    if not now.get("readable", True):
        return ["it can no longer be read"]
    return [name for name, fact in before.items() if now[name] != fact]


class Watched:
    """Files and directories, each by its path and by a descriptor, and what they looked like before.

    They are given by the names that a sighting calls them by. `ctime` compares the change time too.
    """

    def __init__(self, *, ctime: bool = False, **paths: Path) -> None:
        self.ctime = ctime
        self.places: dict[str, Path | int] = {}
        for name, path in paths.items():
            self.places[f"{name} by path"] = path
            self.places[f"{name} by descriptor"] = os.open(path, os.O_RDONLY)
        self.before = self.now()

    def now(self) -> dict[str, Facts]:
        """What it all looks like now."""
        return {name: portrait(where, ctime=self.ctime) for name, where in self.places.items()}

    def changes(self) -> str:
        """What changed, in words; empty when nothing did."""
        now = self.now()
        found = {name: differences(self.before[name], now[name]) for name in self.before}
        return "; ".join(f"{name}: {', '.join(what)}" for name, what in found.items() if what)

    def settle(self) -> None:
        """Take what it looks like now as what it looked like before."""
        self.before = self.now()

    def close(self) -> None:
        """Give the descriptors back."""
        for where in self.places.values():
            if isinstance(where, int):
                os.close(where)
