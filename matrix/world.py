"""The world: a network namespace of our own, with addresses to reach and no way out.

Whoever enters it moves the calling process, and so all its later children, into a fresh network
and mount namespace. As root nothing else changes. An ordinary account needs a user namespace
around it, in which set-uid launchers do not work; so there only the process that runs world rows
goes in (`call`). The machine's own network is never changed.

Sources: namespaces(7), user_namespaces(7), netdevice(7).
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import ipaddress
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fcntl import ioctl
from pathlib import Path
from typing import BinaryIO, Literal, ParamSpec, TypeVar, cast

import psutil

from matrix import resolution
from matrix.netlink import add_address
from runners.ways_out import leads_out

P = ParamSpec("P")
T = TypeVar("T")

GATEWAYS = (
    "10.0.2.2",  # slirp4netns, QEMU user networking
    "10.0.2.3",  # the resolver of the same
    "169.254.1.1",  # podman's name for the host
    "169.254.1.2",  # pasta's --map-guest-addr
    "172.17.0.1",  # Docker's bridge
    "192.168.5.2",  # Lima
    "192.168.64.1",  # Apple's virtualisation framework
    "192.168.65.1",  # Docker Desktop
    "192.168.65.254",  # Docker Desktop, host.docker.internal
    "192.168.127.254",  # gvproxy: podman machine
)
"""Addresses by which one runtime or another lets a sandbox reach its host; here they are ours."""

OWN = ("10.77.0.1", "192.168.77.1", "100.64.77.1")
"""Private and carrier-grade addresses, as a host has them on its interfaces."""

ULA = "fd65:736d:6174::1"
LINK_LOCAL = "fe80::65:6d"

_CLONE_NEWNS, _CLONE_NEWUSER, _CLONE_NEWNET = 0x00020000, 0x10000000, 0x40000000
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000
_PR_SET_PDEATHSIG = 1
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1


class WorldError(Exception):
    """The world could not be entered; the text says what was tried, why not, and what helps."""


@dataclass(frozen=True)
class Inside:
    """This process is in the world already."""


@dataclass(frozen=True, kw_only=True)
class Possible:
    """The world can be entered: as root in this very process, as a user through `call`."""

    how: Literal["root", "user"]


@dataclass(frozen=True, kw_only=True)
class Impossible:
    """There can be no world here."""

    why: str


Standing = Inside | Possible | Impossible


def standing() -> Standing:
    """What is possible here. Changes nothing: what may be refused is tried in a child."""
    if not sys.platform.startswith("linux"):
        return Impossible(why=f"{sys.platform} has no network namespaces")
    if _marked() and not leads_out():
        return Inside()
    return _tried()


@functools.cache
def _tried() -> Possible | Impossible:
    """Whether a child could enter, tried once."""
    try:
        call(leads_out)
    except WorldError as error:
        return Impossible(why=str(error))
    return Possible(how="root" if os.geteuid() == 0 else "user")


def _marked() -> bool:
    """Whether this namespace has the address that only the world has; it is inherited, unlike a variable."""
    mark = ipaddress.IPv4Address(OWN[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((str(mark), 0))
        except OSError:
            return False
    return True


def enter() -> None:
    """Move this process into a fresh world; its later children follow. Raises WorldError.

    Must come before the first thread: threads would stay behind. Not reversible.
    """
    if len(os.listdir("/proc/self/task")) > 1:
        raise WorldError("the world must be entered before a thread is started; this process has several")
    root = os.geteuid() == 0
    uid, gid = os.geteuid(), os.getegid()
    flags = _CLONE_NEWNET | _CLONE_NEWNS | (0 if root else _CLONE_NEWUSER)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags):
        raise WorldError(_refused("unshare", root=root))
    if not root:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"0 {uid} 1")
        _write("/proc/self/gid_map", f"0 {gid} 1")
    if libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None):
        raise WorldError(_refused("mount --make-rprivate /", root=root))
    try:
        _furnish()
        resolution.point_here()
    except OSError as error:
        raise WorldError(f"the new network namespace cannot be set up: {error}") from error
    if way := leads_out():
        raise WorldError(f"the new network namespace leads out ({way}); no row may run in it")


def _refused(what: str, *, root: bool) -> str:
    why = os.strerror(ctypes.get_errno())
    helps = (
        "run with CAP_SYS_ADMIN (a container needs --privileged or --cap-add SYS_ADMIN)"
        if root
        else "allow user namespaces (user.max_user_namespaces, kernel.unprivileged_userns_clone, "
        "kernel.apparmor_restrict_unprivileged_userns) or run as root"
    )
    return f"no network world: {what}: {why}; {helps}"


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text)
    except OSError as error:
        raise WorldError(f"no network world: {path}: {error.strerror}") from error


def _furnish() -> None:
    """Bring loopback up and give it every address that rows need."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sH14x", b"lo", 0)
        (up,) = struct.unpack_from("16xH", ioctl(control, _SIOCGIFFLAGS, request))
        ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", up | _IFF_UP))
    for address in (*OWN, *GATEWAYS):
        add_address(address, 32)
    for address, prefix in ((ULA, 128), (LINK_LOCAL, 64)):
        try:
            add_address(address, prefix)
        except OSError:
            break  # IPv6 is off: the rows that need it say so when they plant
    most = 2147483647 if os.getuid() == 0 and _all_groups() else 0
    try:
        Path("/proc/sys/net/ipv4/ping_group_range").write_text(f"0 {most}")
    except OSError:
        return  # a read-only /proc/sys: the control of the ping row then names this switch


def _all_groups() -> bool:
    """Whether every group exists here; in a user namespace only the mapped one does."""
    return Path("/proc/self/gid_map").read_text().split()[2] == "4294967295"


def call(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run an importable function in a fresh world, in a child process; its result comes back.

    Whatever it raises is raised here. WorldError where the child cannot enter.
    """
    read, write = os.pipe()
    try:
        child = subprocess.Popen(
            [sys.executable, "-m", "matrix.world", str(write), str(os.getpid())],
            stdin=subprocess.PIPE,
            pass_fds=(write,),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )
    finally:
        os.close(write)
    with os.fdopen(read, "rb") as answers, child:
        with contextlib.suppress(BrokenPipeError), cast("BinaryIO", child.stdin) as asked:
            asked.write(pickle.dumps((function, args, kwargs)))
        answer = answers.read()  # before it is waited for: an answer may be more than a pipe holds
    if not answer:
        raise WorldError(f"the process in the world ended with {child.returncode} and said nothing")
    outcome, value = pickle.loads(answer)  # noqa: S301 - written by our own child
    if outcome == "raised":
        raise value
    return value


def _end_with(parent: int) -> None:
    """Be sent SIGTERM when the parent ends (prctl(2), PR_SET_PDEATHSIG); KeyboardInterrupt if it has ended.

    The kernel forgets it where a process gains rights, as in a new user namespace.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        raise KeyboardInterrupt


def main() -> int:
    """Enter, then run the pickled call from standard input; the answer goes to the descriptor argv[1].

    It ends with its parent, argv[2], and when it is asked to, with everything that it has started: whoever
    is called sees a KeyboardInterrupt.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        enter()
        _end_with(int(sys.argv[2]))
        function, args, kwargs = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 - from our own parent
        answer = ("returned", function(*args, **kwargs))
    except BaseException as error:  # noqa: BLE001 - it is raised again in the parent
        answer = ("raised", error)
        if isinstance(error, KeyboardInterrupt):
            _end_children()
    with contextlib.suppress(BrokenPipeError), os.fdopen(int(sys.argv[1]), "wb") as out:
        out.write(pickle.dumps(answer))
    return 0


def _end_children() -> None:
    """End what this process has started, and what that has."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            child.kill()


if __name__ == "__main__":
    from matrix.world import main as imported  # the module under its own name, or WorldError would be two

    sys.exit(imported())
