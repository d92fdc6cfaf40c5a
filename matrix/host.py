"""Facts about this machine and this account: what a report's header records.

Every fact is asked for by name and is a setting or a number. None is an environment, a host name
or another process's, and a fact that this machine lacks is recorded as absent.
"""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matrix.switches import ABSENT, names
from runners.contract import Identity

_LANDLOCK_CREATE_RULESET = 444  # the same number on every architecture
_LANDLOCK_VERSION = 1  # a flag: answer with the ABI and make nothing
_PROTOCOLS = {"mptcp": "MPTCP", "sctp": "SCTP", "vsock": "AF_VSOCK", "udplite": "UDP-Lite"}
_OPTIONS = ("KEYS", "POSIX_MQUEUE", "IA32_EMULATION", "X86_X32_ABI", "LEGACY_TIOCSTI")


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Where facts are read from. Tests bring their own."""

    system: str  # "linux" or "darwin"
    root: Path  # what is above /proc, /sys and /etc
    ask: Callable[[Sequence[str]], str]  # what a command prints; ABSENT where it cannot be run
    landlock: Callable[[], str]
    release: str  # kernel, release and machine, as uname says them

    def read(self, path: str) -> str:
        """A file's text on one line, or ABSENT."""
        try:
            return " ".join(
                (self.root / path.lstrip("/")).read_text(encoding="utf-8", errors="replace").split()
            )
        except OSError:
            return ABSENT

    def present(self, path: str) -> str:
        """Whether something has this path."""
        return "present" if (self.root / path.lstrip("/")).exists() else ABSENT


def facts(identity: Identity, machine: Machine | None = None) -> Mapping[str, str]:
    """What a report records of this machine and of the account that the attempts run as."""
    machine = machine or this_machine()
    own = {
        "kernel": machine.release,
        "python": platform.python_version(),
        "uid": str(identity.uid),
        "gid": str(identity.gid),
        "groups": " ".join(str(group) for group in sorted(identity.groups)),
    }
    return own | (_darwin(machine) if machine.system == "darwin" else _linux(identity, machine))


def this_machine() -> Machine:
    """The real one."""
    name = os.uname()
    return Machine(
        system=sys.platform,
        root=Path("/"),
        ask=_ask,
        landlock=_landlock,
        release=f"{name.sysname} {name.release} {name.machine}",
    )


def _linux(identity: Identity, machine: Machine) -> dict[str, str]:
    found = {
        "distribution": _distribution(machine),
        **_status(identity, machine),
        "lsm": machine.read("/sys/kernel/security/lsm"),
        "landlock": machine.landlock(),
        "apparmor": machine.read("/proc/self/attr/apparmor/current"),
        "proc.hidepid": _hidepid(machine),
        "container": _container(machine),
        "device.vsock": machine.present("/dev/vsock"),
        "device.mqueue": machine.present("/dev/mqueue"),
        "keyrings": machine.present("/proc/keys"),
    }
    found |= {name: machine.read("/proc/sys/" + name.replace(".", "/")) for name in names()}
    known = machine.read("/proc/net/protocols").split()
    found |= {
        f"protocol.{name}": "present" if kernels in known else ABSENT for name, kernels in _PROTOCOLS.items()
    }
    return found | _options(machine)


def _status(identity: Identity, machine: Machine) -> dict[str, str]:
    """Capabilities and filters of the account's processes, as the kernel writes them."""
    found: dict[str, str] = dict.fromkeys(("CapEff", "CapBnd", "NoNewPrivs", "Seccomp"), ABSENT)
    try:
        lines = (machine.root / "proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return found
    for line in lines:
        name, _, value = line.partition(":")
        if name in found:
            found[name] = value.strip()
    if identity.uid not in {0, os.geteuid()}:
        found["CapEff"] = "0" * 16  # setuid(2) from 0 to another account leaves none
    return found


def _distribution(machine: Machine) -> str:
    """The name that the distribution gives itself."""
    fields = _os_release(machine)
    return fields.get("PRETTY_NAME", fields.get("ID", ABSENT))


def families(machine: Machine) -> tuple[str, ...]:
    """The distribution's own id and those that it is like, as os-release(5) has them."""
    fields = _os_release(machine)
    return tuple(f"{fields.get('ID', '')} {fields.get('ID_LIKE', '')}".split())


def _os_release(machine: Machine) -> dict[str, str]:
    try:
        text = (machine.root / "etc/os-release").read_text(encoding="utf-8")
    except OSError:
        return {}
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line)
    return {name: value.strip("\"'") for name, value in pairs}


def _hidepid(machine: Machine) -> str:
    for line in machine.read("/proc/self/mounts").split(" 0 0"):
        parts = line.split()
        if len(parts) >= 4 and parts[1:3] == ["/proc", "proc"]:  # noqa: PLR2004 - device, path, type, options
            options = [option for option in parts[3].split(",") if option.startswith("hidepid=")]
            return options[0].removeprefix("hidepid=") if options else "off"
    return ABSENT


def _container(machine: Machine) -> str:
    """The kind of container that this host itself is, as container runtimes mark it."""
    for path, kind in (("/.dockerenv", "docker"), ("/run/.containerenv", "podman")):
        if machine.present(path) == "present":
            return kind
    return machine.read("/run/systemd/container")


def _options(machine: Machine) -> dict[str, str]:
    """How the kernel was built, where the distribution says so."""
    release = machine.release.split()[1] if len(machine.release.split()) > 1 else ""
    text = machine.read(f"/boot/config-{release}")
    if text == ABSENT:
        return {}
    set_ = dict(word.split("=", 1) for word in text.split() if word.startswith("CONFIG_") and "=" in word)
    return {f"config.{name.lower()}": set_.get(f"CONFIG_{name}", "n") for name in _OPTIONS}


def _darwin(machine: Machine) -> dict[str, str]:
    """Facts of macOS. The commands are documented; no Mac has run this code."""
    return {
        "macos": machine.ask(["sw_vers", "-productVersion"]),
        "macos.build": machine.ask(["sw_vers", "-buildVersion"]),
        "sip": machine.ask(["csrutil", "status"]),
        "launchd": machine.ask(["launchctl", "managername"]),
        "translated": machine.ask(["sysctl", "-n", "sysctl.proc_translated"]),
        "virtual": machine.ask(["sysctl", "-n", "kern.hv_vmm_present"]),
    }


def _ask(argv: Sequence[str]) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ABSENT
    return " ".join(done.stdout.split())[:200] if done.returncode == 0 else ABSENT


def _landlock() -> str:
    """The Landlock ABI of the running kernel; asking makes no ruleset."""
    if not sys.platform.startswith("linux"):
        return ABSENT
    libc = ctypes.CDLL(None, use_errno=True)
    abi = libc.syscall(
        ctypes.c_long(_LANDLOCK_CREATE_RULESET), None, ctypes.c_size_t(0), ctypes.c_uint(_LANDLOCK_VERSION)
    )
    return str(abi) if abi >= 0 else ABSENT
