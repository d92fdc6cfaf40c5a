"""Who is asked for names in the network world: our own server on 127.0.0.1, and never the machine's.

The files that say so lie over those of /etc in this mount namespace alone, and nothing lies over the
sockets of services that look names up for others. What does not exist is left so: without these files
the C library asks 127.0.0.1 by DNS.

Sources: resolv.conf(5), nsswitch.conf(5), hosts(5), nscd(8), systemd-resolved.service(8), mount(2).
"""

from __future__ import annotations

import ctypes
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

RESOLVER = Path("/etc/resolv.conf")
SWITCH = Path("/etc/nsswitch.conf")
HOSTS = Path("/etc/hosts")
SERVICES = (
    Path("/run/nscd/socket"),  # a cache, which the C library asks before anything else
    Path("/var/run/nscd/socket"),
    Path("/run/systemd/resolve/io.systemd.Resolve"),
    Path("/run/systemd/resolve/io.systemd.Resolve.Monitor"),
    Path("/run/avahi-daemon/socket"),
)
"""Sockets by which a process of the machine looks names up outside the world."""

_MS_BIND, _MS_NOSUID_NODEV, _MNT_DETACH = 0x1000, 0x6, 2


def point_here() -> None:
    """Lay our files over the machine's. Needs a private mount namespace. Raises OSError."""
    texts = {
        RESOLVER: "nameserver 127.0.0.1\nsearch .\noptions timeout:1 attempts:1\n",
        HOSTS: "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n",
        **dict.fromkeys(SERVICES, ""),
    }
    if SWITCH.is_file():
        texts[SWITCH] = switched(SWITCH.read_text(errors="replace"))
    cover({path: text for path, text in texts.items() if path.exists()})


def switched(text: str) -> str:
    """An nsswitch.conf in which hosts are looked up in the file and by DNS, and nowhere else."""
    kept = [line for line in text.splitlines() if not re.match(r"\s*hosts\s*:", line)]
    return "\n".join([*kept, "hosts: files dns", ""])


def cover(texts: Mapping[Path, str]) -> None:
    """Lay a file with its text over each path, following links. Raises OSError.

    The files are in a memory of their own that no path leads to. They keep their names there: over a
    file without one nothing could be laid again, neither by a sandbox nor by a world inside this one.
    """
    folder = Path(tempfile.mkdtemp(prefix=".escape-matrix-"))
    try:
        _mount("tmpfs", folder, "tmpfs", _MS_NOSUID_NODEV, b"size=256k,mode=0755")
        try:
            for number, (path, text) in enumerate(texts.items()):
                file = folder / str(number)
                file.write_text(text)
                file.chmod(0o644)
                _mount(str(file), path, "", _MS_BIND, None)
        finally:
            ctypes.CDLL(None).umount2(bytes(folder), _MNT_DETACH)
    finally:
        folder.rmdir()


def _mount(source: str, target: Path, kind: str, flags: int, data: bytes | None) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source.encode(), bytes(target), kind.encode() or None, flags, data):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(target))
