"""A root file system for containers, made of this machine's own files: one Python and what it needs.

No registry and no network: the interpreter, its standard library, the libraries and the loader
that `ldd` names, a shell and a few tools, and those clients of the network that rows start. Clients
that are shown beside the workspace come with programs only, so their libraries are here too.
"""

from __future__ import annotations

import io
import re
import subprocess
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from runners.local import which
from runners.system import view

_FOLDERS = (
    *(
        "dev",
        "etc",
        "home",
        "proc",
        "root",
        "run",
        "sys",
        "tmp",
        "usr/bin",
        "usr/lib",
        "usr/lib64",
        "usr/sbin",
    ),
    *("host", "var/tmp"),
)
_TOOLS = ("sh", "env", "sleep", "chroot")
_CLIENTS = ("curl", "git", "openssl", "wget")  # left out where they are not
_FOR_SHOWN = ("libdl.so.2", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "librt.so.1", "libstdc++.so.6")
_LEFT_OUT = frozenset(
    {"__pycache__", "ensurepip", "idlelib", "lib2to3", "site-packages", "dist-packages", "test", "tests"}
    | {"turtledemo", "tkinter"}
)
_ACCOUNTS = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
}


def build(tar: Path, python: str) -> None:
    """Write the tar. Raises OSError, or subprocess.CalledProcessError where the interpreter cannot run."""
    library = Path(_ask(python, "import sysconfig; print(sysconfig.get_path('stdlib'))"))
    programs = [Path(python), *(Path(which(tool)) for tool in _TOOLS)]
    programs += [path for path in (Path(which(client)) for client in _CLIENTS) if path.is_absolute()]
    modules = [path for path in (library / "lib-dynload").glob("*.so") if not path.name.startswith("_test")]
    with tarfile.open(tar, "w") as archive:
        image = _Image(archive)
        for folder in _FOLDERS:
            image.folder(folder, 0o1777 if folder in {"tmp", "var/tmp"} else 0o755)
        for target, name in view().links:
            image.link(target, name)
        for name, text in _ACCOUNTS.items():
            image.text(name, text)
        for path in (*programs, *_libraries([*programs, *modules]), *_by_name(_FOR_SHOWN)):
            image.file(path)
        archive.add(library, str(library).lstrip("/"), filter=_library_file)


def _ask(python: str, program: str) -> str:
    return subprocess.run(
        [python, "-I", "-S", "-c", program], capture_output=True, text=True, check=True
    ).stdout.strip()


def _libraries(binaries: Iterable[Path]) -> Iterator[Path]:
    """The loader and every shared library, under the names they are looked up by."""
    listed = subprocess.run(["ldd", *binaries], capture_output=True, text=True, check=False).stdout
    yield from (Path(found) for found in sorted(set(re.findall(r"(/\S+) \(0x", listed))))


def _by_name(names: Iterable[str]) -> Iterator[Path]:
    """Those libraries, where the loader of this machine finds them."""
    known = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    for name in names:
        if found := re.search(rf"^\s*{re.escape(name)} .*=> (\S+)", known, re.MULTILINE):
            yield Path(found[1])


def _library_file(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    parts = Path(info.name).parts
    if _LEFT_OUT & set(parts) or any(part.startswith("config-") for part in parts):
        return None
    return _owned(info)


def _owned(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = "root"
    return info


class _Image:
    """A tar in which every name is written once."""

    def __init__(self, archive: tarfile.TarFile) -> None:
        self.archive = archive
        self.named: set[str] = set()

    def folder(self, name: str, mode: int) -> None:
        info = tarfile.TarInfo(name)
        info.type, info.mode = tarfile.DIRTYPE, mode
        self._add(info)

    def link(self, target: str, name: str) -> None:
        info = tarfile.TarInfo(name.lstrip("/"))
        info.type, info.linkname = tarfile.SYMTYPE, target
        self._add(info)

    def text(self, name: str, text: str) -> None:
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(text), 0o644
        self._add(info, io.BytesIO(text.encode()))

    def file(self, path: Path) -> None:
        """The file at its real path, and a link at the name that it is looked up by."""
        real = path.resolve()
        if str(real).lstrip("/") not in self.named:
            with real.open("rb") as content:
                self._add(self.archive.gettarinfo(real, str(real).lstrip("/")), content)
        name = path.parent.resolve() / path.name
        if name != real:
            self.link(str(real), str(name))

    def _add(self, info: tarfile.TarInfo, content: io.BufferedIOBase | None = None) -> None:
        if info.name not in self.named:
            self.named.add(info.name)
            self.archive.addfile(_owned(info), content)
