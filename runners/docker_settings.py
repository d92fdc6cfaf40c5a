"""What a container is asked for, said both as docker-run(1)'s flags and as the SDK's keywords."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.contract import Launch
from runners.masks import covered, read_only


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One thing to ask for. A flag without a value stands alone."""

    flag: str
    value: str | None = None
    keyword: str
    meaning: Any


_TMP = "rw,nosuid,nodev,noexec"
_NO_NETWORK = Setting(flag="--network", value="none", keyword="network_mode", meaning="none")
_STRICT = (
    _NO_NETWORK,
    Setting(flag="--read-only", keyword="read_only", meaning=True),
    Setting(flag="--cap-drop", value="ALL", keyword="cap_drop", meaning=["ALL"]),
    Setting(
        flag="--security-opt",
        value="no-new-privileges",
        keyword="security_opt",
        meaning=["no-new-privileges"],
    ),
    Setting(flag="--user", value="65534:65534", keyword="user", meaning="65534:65534"),
    Setting(flag="--ipc", value="none", keyword="ipc_mode", meaning="none"),
    Setting(flag="--pids-limit", value="256", keyword="pids_limit", meaning=256),
    Setting(
        flag="--ulimit", value="core=0", keyword="ulimits", meaning=[{"name": "core", "soft": 0, "hard": 0}]
    ),
    Setting(flag="--hostname", value="sandbox", keyword="hostname", meaning="sandbox"),
    Setting(flag="--tmpfs", value=f"/tmp:{_TMP}", keyword="tmpfs", meaning={"/tmp": _TMP}),  # noqa: S108
)
_CAPABILITIES = (  # in the order of their numbers, capabilities(7); 20.10 does not know the last three
    *("CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP"),
    *(
        "LINUX_IMMUTABLE",
        "NET_BIND_SERVICE",
        "NET_BROADCAST",
        "NET_ADMIN",
        "NET_RAW",
        "IPC_LOCK",
        "IPC_OWNER",
    ),
    *(
        "SYS_MODULE",
        "SYS_RAWIO",
        "SYS_CHROOT",
        "SYS_PTRACE",
        "SYS_PACCT",
        "SYS_ADMIN",
        "SYS_BOOT",
        "SYS_NICE",
    ),
    *("SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL"),
    *("SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ"),
)
_OPEN = (
    Setting(flag="--cap-drop", value="ALL", keyword="cap_drop", meaning=["ALL"]),
    *(
        Setting(flag="--security-opt", value=f"{guard}=unconfined", keyword="security_opt", meaning=[said])
        for guard, said in (("seccomp", "seccomp=unconfined"), ("apparmor", "apparmor=unconfined"))
    ),
    Setting(
        flag="--device-cgroup-rule",
        value="a *:* rwm",
        keyword="device_cgroup_rules",
        meaning=["a *:* rwm"],
    ),
    Setting(flag="--network", value="host", keyword="network_mode", meaning="host"),
    Setting(flag="--pid", value="host", keyword="pid_mode", meaning="host"),
    Setting(flag="--ipc", value="host", keyword="ipc_mode", meaning="host"),
    Setting(flag="--uts", value="host", keyword="uts_mode", meaning="host"),
    Setting(flag="--cgroupns", value="host", keyword="cgroupns", meaning="host"),
)


def settings(mode: str, launch: Launch, without: Sequence[str] = ()) -> tuple[Setting, ...]:
    """Everything that this configuration asks for, but for the flags in `without`."""
    match mode:
        case "strict":
            asked = (*_STRICT, *_workspace(launch), *_masks(launch))
        case "usual":
            asked = (_NO_NETWORK, *_workspace(launch), *_masks(launch))
        case _:
            environment = {**launch.environment, **launch.policy.environment}
            asked = (*_OPEN, *_held(), _bind(Path("/"), Path("/host")), *_given(environment))
    return tuple(setting for setting in asked if setting.flag not in without)


def flags(asked: Sequence[Setting]) -> Iterator[str]:
    """For the command line."""
    for setting in asked:
        yield setting.flag
        if setting.value is not None:
            yield setting.value


def keywords(asked: Sequence[Setting]) -> dict[str, Any]:
    """For the SDK; lists and dictionaries of one keyword are put together."""
    said: dict[str, Any] = {}
    for setting in asked:
        before, meaning = said.get(setting.keyword), setting.meaning
        if isinstance(before, list):
            said[setting.keyword] = [*before, *meaning]  # type: ignore[reportUnknownVariableType]
        elif isinstance(before, dict):
            said[setting.keyword] = {**before, **meaning}
        else:
            said[setting.keyword] = meaning
    return said


def _workspace(launch: Launch) -> Iterator[Setting]:
    workspace = launch.policy.workspace
    for path in launch.policy.shown:
        yield _bind(path, path, read_only=True)
    yield _bind(workspace, workspace)
    yield Setting(flag="--workdir", value=str(workspace), keyword="working_dir", meaning=str(workspace))
    yield from _given(launch.policy.environment)


def _held() -> Iterator[Setting]:
    """`--privileged` spelled out, as that one fails where the daemon itself lacks a capability."""
    status = Path("/proc/self/status").read_text()
    bounding = int(status.partition("CapBnd:")[2].split()[0], 16)
    for number, name in enumerate(_CAPABILITIES):
        if bounding >> number & 1:
            yield Setting(flag="--cap-add", value=name, keyword="cap_add", meaning=[name])


def _given(environment: Mapping[str, str]) -> Iterator[Setting]:
    for name, value in environment.items():
        yield Setting(flag="--env", value=f"{name}={value}", keyword="environment", meaning={name: value})


def _masks(launch: Launch) -> Iterator[Setting]:
    for source, path in read_only(launch):
        yield _bind(source, path, read_only=True)
    for source, path in covered(launch):
        yield _bind(source, path, read_only=True) if source else _empty(path)


def _bind(source: Path, target: Path, *, read_only: bool = False) -> Setting:
    words = ["type=bind", f"source={source}", f"target={target}", *(["readonly"] if read_only else [])]
    meaning = {"Type": "bind", "Source": str(source), "Target": str(target), "ReadOnly": read_only}
    return Setting(flag="--mount", value=_fields(words), keyword="mounts", meaning=[meaning])


def _empty(target: Path) -> Setting:
    words = ["type=tmpfs", f"target={target}", "tmpfs-mode=0", "tmpfs-size=4096"]
    options = {"Mode": 0, "SizeBytes": 4096}
    meaning = {"Type": "tmpfs", "Target": str(target), "TmpfsOptions": options}
    return Setting(flag="--mount", value=_fields(words), keyword="mounts", meaning=[meaning])


def _fields(words: Sequence[str]) -> str:
    """As the command line reads them: one line of CSV, so that a comma in a path stays one."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(words)
    return line.getvalue()
