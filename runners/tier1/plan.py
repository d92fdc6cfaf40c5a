"""From a launch to the launcher's command line and the plan that it reads from an open file."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.contract import Launch, Policy, StartError, default_python
from runners.local import reaches
from runners.masks import empty_file
from runners.modes import assemble
from runners.system import view
from runners.tier1 import sandbox
from runners.tier1.ours import exposed

HERE = Path(__file__).parent
LAUNCHER = HERE / "launcher"

PROTECTIONS = ("descriptors", "devices", "environment", "filters", "pins", "strangers", "terminal")
"""What the launcher adds to bwrap; each can be left out, to see what it keeps."""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """How the launcher is started: everything else is in the files that it inherits."""

    argv: tuple[str, ...]
    descriptors: tuple[int, ...]  # for it to inherit, under these numbers; closed with the stack


def prepare(launch: Launch, options: Mapping[str, Any], bwrap: str, door: int, opened: ExitStack) -> Prepared:
    """Write the plan. `door` is where the listening socket is handed out, -1 for nowhere.

    What is opened goes on `opened`. Raises StartError where the workspace is no place for a sandbox.
    """
    _check(launch.policy, bwrap)
    lacks: Sequence[str] = options.get("lacks", ())
    programs = () if "filters" in lacks else _programs()
    filters = [_holding(program, opened) for program in programs]
    present, empty = sandbox.look(), empty_file(launch)
    plan = {
        "bwrap": bwrap,
        "python": default_python(),
        "inside": (HERE / "inside.py").read_text(encoding="utf-8"),
        "first": assemble((), sandbox.first(launch.policy, view(), present, empty), options, ()),
        "last": assemble((), sandbox.last(launch.policy), {"without": options.get("without", ())}, ()),
        "files": sandbox.FILES,
        "filters": filters,
        "door": door,
        "workspace": str(launch.policy.workspace),
        "hidden": [str(path) for path in launch.policy.hidden],
        "shown": [str(path) for path in launch.policy.shown],
        "protected": [str(path) for path in launch.policy.protected],
        "empty": str(empty),
        "links": options.get("links", "cover") == "cover",
        "lacks": list(lacks),
        "command": launch.command,
    }
    written = _holding(json.dumps(plan).encode(), opened)
    argv = (default_python(), "-I", "-S", "-B", str(_launcher(launch)), str(written))
    return Prepared(argv=argv, descriptors=(written, *filters, *([door] if door >= 0 else [])))


def _check(policy: Policy, bwrap: str) -> None:
    """Raise StartError where no sandbox can keep this policy."""
    workspace = policy.workspace
    if not workspace.is_absolute() or workspace == Path("/"):
        raise StartError(f"{workspace} cannot be a workspace: name a directory below the root, from the root")
    if Path("/") in policy.shown:
        raise StartError(
            "/ cannot be shown: with it come the host's devices, processes and sockets; name directories"
        )
    for name, value in policy.environment.items():
        if "\0" in name + value:  # bwrap would read what follows as words of its own
            raise StartError(f"the variable {name!r} holds a zero byte, as none can: leave it out")
    if ours := exposed(policy, bwrap):
        raise StartError(
            f"{ours} is in use outside the sandbox and lies in its workspace {workspace}, where the command "
            "could change it: name another workspace, or --protect it; with python -P the directory that it "
            "is started in is not in use"
        )


def line(launch: Launch) -> Iterator[str]:
    """The same for a person to type."""
    policy = launch.policy
    yield from ("python", "-m", "runners.tier1", "run", "--workspace", str(policy.workspace))
    for path in policy.hidden:
        yield from ("--hide", str(path))
    for path in policy.protected:
        yield from ("--protect", str(path))
    for path in policy.shown:
        yield from ("--show", str(path))
    for name, value in policy.environment.items():
        yield from ("--set", f"{name}={value}")
    if policy.egress is not None:
        for entry in policy.egress.manifest:
            yield from ("--allow", entry)
        for entry in policy.egress.tenant:
            yield from ("--tenant-allow", entry)
        if not (policy.egress.manifest or policy.egress.tenant):
            yield from ("--tenant", "/dev/null")  # a proxy, and nothing on its lists
    yield from ("--", *launch.command)


def _launcher(launch: Launch) -> Path:
    """The launcher's folder, or a copy in the run's directory where the account does not reach it."""
    if reaches(launch.identity, LAUNCHER / "__main__.py"):
        return LAUNCHER
    copy = launch.run / "tier1-launcher"
    if not copy.exists():
        making = Path(tempfile.mkdtemp(prefix="tier1-", dir=launch.run))
        for file in LAUNCHER.glob("*.py"):
            (making / file.name).write_bytes(file.read_bytes())
        making.chmod(0o755)
        try:
            making.rename(copy)
        except OSError:  # another start of this run was faster
            shutil.rmtree(making)
    return copy


def _programs() -> tuple[bytes, ...]:
    """The system-call filters; their library is Linux's, and is asked for when they are."""
    return importlib.import_module("runners.tier1.seccomp").programs()


def _holding(data: bytes, opened: ExitStack) -> int:
    """The number of an open file with these bytes, at its beginning."""
    descriptor = os.memfd_create("tier1")
    opened.callback(os.close, descriptor)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
