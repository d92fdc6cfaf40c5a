"""firejail: a set-uid program that closes parts of the file system and the kernel. Source: firejail(1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from runners.contract import Expressible, Found, Identity, Inexpressible, Launch, Missing, Policy
from runners.local import Local, find, which
from runners.masks import existing
from runners.modes import assemble, mode_options
from runners.system import in_user_namespace, top_level

_CLOSED = (
    *("--net=none", "--caps.drop=all", "--nonewprivs", "--noroot", "--nogroups", "--seccomp"),
    *("--seccomp.block-secondary", "--restrict-namespaces", "--protocol=unix", "--ipc-namespace"),
    *("--private", "--private-dev", "--private-tmp", "--private-cache", "--private-etc=none", "--nodbus"),
    *("--nosound", "--no3d", "--notv", "--nodvd", "--novideo", "--nou2f", "--noinput", "--noprinters"),
    *("--disable-mnt", "--machine-id", "--hostname=sandbox"),
    *("--deterministic-exit-code", "--deterministic-shutdown"),
)
_OPEN = (
    *(
        "--allow-debuggers",
        "--allusers",
        "--keep-fd=all",
        "--keep-dev-shm",
        "--keep-var-tmp",
        "--writable-etc",
    ),
    *("--writable-run-user", "--writable-var", "--writable-var-log"),
)
_NEEDED = frozenset({"/bin", "/etc", "/home", "/lib", "/lib32", "/lib64", "/root", "/sbin", "/usr", "/var"})
_OWN = frozenset({"/dev", "/proc", "/run", "/sys", "/tmp"})  # noqa: S108 - replaced by firejail itself


class Runner(Local):
    """Three configurations, all without a profile file, as those differ from host to host.

    strict: all that firejail can close; it has no option for a clean environment and gets one by
    `env -i`. usual: `--noprofile`. open: `--noprofile` with everything given back that has a flag.
    """

    OPTIONS: ClassVar[Mapping[str, Any]] = mode_options()

    def find(self, identity: Identity) -> Found | Missing:
        """The program; it refuses accounts without a name of their own, such as nobody."""
        if identity.name == "nobody" or identity.name.isdecimal():
            return Missing(f"firejail does not run for {identity.name}", "use an account made by useradd")
        if in_user_namespace():
            return Missing("firejail is set-uid root, which gains nothing in a user namespace", "run as root")
        return find("firejail", identity, "apt-get install firejail")

    def express(self, policy: Policy) -> Expressible | Inexpressible:
        """`--blacklist` and `--read-only`, which pass over what does not exist."""
        return Expressible() if self.options["mode"] == "open" else existing(policy)

    def argv(self, launch: Launch) -> tuple[str, ...]:
        """The command line."""
        program = (which("firejail"), "--quiet", "--noprofile")
        match self.options["mode"]:
            case "strict":
                groups = (*_strict(launch), *_masks(launch))
                granted = (f"{name}={value}" for name, value in launch.policy.environment.items())
                program = (which("env"), "-i", *granted, *program)
            case "usual":
                groups = (*_kept(launch), _writable(launch), *_masks(launch))
            case _:
                groups = tuple((flag,) for flag in _OPEN)
        return assemble(program, groups, self.options, ("--", *launch.command))

    def environment(self, launch: Launch) -> Mapping[str, str]:
        """The caller's own where `env -i` replaces it."""
        return launch.environment if self.options["mode"] == "strict" else super().environment(launch)


def _strict(launch: Launch) -> Iterator[tuple[str, ...]]:
    workspace = launch.policy.workspace
    yield from ((flag,) for flag in _CLOSED)
    yield from _kept(launch)
    yield (f"--whitelist={workspace}",)
    yield ("--whitelist=/run/nothing",)  # with one entry, none of /run's own are left
    for path in launch.policy.shown:
        yield (f"--whitelist={path}",)
    yield (f"--private-cwd={workspace}",)
    if launch.identity.root:
        yield ("--read-only=/",)  # for a user it would undo --noroot, silently
    for path in launch.policy.shown:
        yield (f"--read-only={path}",)
    above = {f"/{path.parts[1]}" for path in launch.policy.shown}  # emptied by the whitelist already
    for path in top_level():
        if path in _NEEDED:
            yield (f"--read-only={path}",)
        elif path not in _OWN | above:
            yield (f"--blacklist={path}",)
    yield _writable(launch)


def _writable(launch: Launch) -> tuple[str, ...]:
    """/var is read-only by default. Without a word nothing happens where the account owns not the path."""
    return (f"--read-write={launch.policy.workspace}",)


def _kept(launch: Launch) -> Iterator[tuple[str, ...]]:
    """A workspace in /var/tmp would be covered by the fresh one that firejail mounts there."""
    if Path("/var/tmp") in launch.policy.workspace.parents:  # noqa: S108 - the name that firejail knows
        yield ("--keep-var-tmp",)


def _masks(launch: Launch) -> Iterator[tuple[str, ...]]:
    for path in launch.policy.protected:
        yield (f"--read-only={path}",)
    for path in launch.policy.hidden:
        yield (f"--blacklist={path}",)
