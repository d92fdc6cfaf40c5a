"""What of this machine a sandbox must show, read-only, so that the interpreter runs inside."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from runners.contract import default_python

_LINKED = ("/bin", "/lib", "/lib64", "/lib32", "/sbin")


@dataclass(frozen=True, kw_only=True)
class View:
    """Directories to show under their own names, and links to make."""

    shown: tuple[str, ...]
    links: tuple[tuple[str, str], ...]  # (target, name), as for ln -s


def view() -> View:
    """/usr, the directories that old layouts keep beside it, and a foreign interpreter's own prefix."""
    shown = ["/usr"] if Path("/usr").is_dir() else []
    links: list[tuple[str, str]] = []
    for name in _LINKED:
        if Path(name).is_symlink():
            links.append((str(Path(name).readlink()), name))
        elif Path(name).is_dir():
            shown.append(name)
    if default_python() == sys.executable:  # built elsewhere, with its library below its own prefix
        shown += [
            prefix for prefix in dict.fromkeys((sys.base_prefix, sys.prefix)) if not _within(prefix, shown)
        ]
    return View(shown=tuple(shown), links=tuple(links))


def top_level() -> tuple[str, ...]:
    """The real directories directly below the root, links left out."""
    with os.scandir("/") as entries:
        return tuple(sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False)))


def _within(path: str, directories: list[str]) -> bool:
    return any(path == each or path.startswith(each + "/") for each in directories)


def in_user_namespace() -> bool:
    """Whether this process is in a user namespace of its own, where set-uid programs gain nothing."""
    try:
        return Path("/proc/self/uid_map").read_text().split()[2] != str(2**32 - 1)
    except (OSError, IndexError):
        return False
