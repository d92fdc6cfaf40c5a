"""What bwrap is asked for: namespaces, rights, a root of its own, the workspace, the environment. Pure.

Words in the order in which bwrap does them: bwrap(1), 0.8 and newer. What guards single paths of the
workspace comes after these, from the launcher, which looks at what lies there: launcher/.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from runners.contract import Policy
from runners.system import View

PROXY = "http://127.0.0.1:3128"
"""Where the command finds its proxy; inside.py listens there."""

FILES = {
    "/etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",  # a name is unknown at once
    "/etc/passwd": "nobody:x:65534:65534:nobody:/tmp:/bin/sh\n",
    "/etc/group": "nogroup:x:65534:\n",
}
"""All that is made for /etc. There is no resolv.conf: the proxy resolves."""

RUNTIME = (
    *("/etc/alternatives", "/etc/ld.so.cache"),
    *("/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted"),
)
"""What programs need of the host's /etc, shown where it is there: the loader's cache, public certificates."""

SECRETIVE = (
    *("acpi", "asound", "config.gz", "kallsyms", "kcore", "keys", "key-users", "kmsg", "kpagecgroup"),
    *("kpagecount", "kpageflags", "latency_stats", "pagetypeinfo", "sched_debug", "scsi", "slabinfo"),
    *("timer_list", "vmallocinfo", "interrupts"),
)
"""What /proc says of the whole machine, covered. The account 0 may read some of it without a capability."""

_SEPARATE = ("--unshare-all", "--unshare-user", "--disable-userns", "--new-session", "--die-with-parent")
_RIGHTS = (("--cap-drop", "ALL"), ("--uid", "65534"), ("--gid", "65534"), ("--hostname", "sandbox"))
_PROXIED = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
_UNPROXIED = ("NO_PROXY", "no_proxy")
_NEVER = ("ALL_PROXY", "all_proxy")

Group = tuple[str, ...]
"""A flag with its values."""


def environment(policy: Policy) -> dict[str, str]:
    """All variables of the command: what is granted and, where there is a proxy, the way to it."""
    granted = dict(policy.environment)
    if policy.egress is None:
        return granted
    for name in _NEVER:
        granted.pop(name, None)
    return {
        **granted,
        **dict.fromkeys(_PROXIED, PROXY),
        **dict.fromkeys(_UNPROXIED, ""),
        "NODE_USE_ENV_PROXY": "1",
    }


def first(policy: Policy, shown: View, present: Mapping[str, bool], empty: Path) -> Iterator[Group]:
    """Everything up to the workspace. `present` is what `look()` found on this machine."""
    yield from ((flag,) for flag in _SEPARATE)
    yield from _RIGHTS
    yield ("--clearenv",)
    for name, value in environment(policy).items():
        yield ("--setenv", name, value)
    for path in (*shown.shown, *(path for path in RUNTIME if path in present)):
        yield ("--ro-bind", path, path)
    for target, name in shown.links:
        yield ("--symlink", target, name)
    yield from _proc(present, empty)
    yield ("--dev", "/dev")
    yield ("--tmpfs", "/tmp")  # noqa: S108 - a private one, inside
    for path in policy.shown:
        yield ("--ro-bind", str(path), str(path))
    yield ("--bind", str(policy.workspace), str(policy.workspace))


def last(policy: Policy) -> Iterator[Group]:
    """What comes after the guards of the workspace."""
    yield ("--remount-ro", "/")
    yield ("--chdir", str(policy.workspace))


def look() -> Mapping[str, bool]:
    """The paths of this machine that are used only where they are there → whether each is a directory."""
    paths = (*RUNTIME, *(f"/proc/{name}" for name in SECRETIVE))
    return {path: Path(path).is_dir() for path in paths if Path(path).exists()}


def _proc(present: Mapping[str, bool], empty: Path) -> Iterator[Group]:
    """Process numbers of its own, nothing of the machine's, and nothing that can be written."""
    yield ("--proc", "/proc")
    for name in SECRETIVE:
        match present.get(path := f"/proc/{name}"):
            case None:
                continue
            case True:
                yield ("--tmpfs", path, "--remount-ro", path)
            case False:
                yield ("--ro-bind", str(empty), path)
    yield ("--remount-ro", "/proc")
