"""A place to start launchers in, for tests: a run directory with a workspace, and how a launch went."""

from __future__ import annotations

import os
import pwd
import select
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from runners.contract import Exit, Identity, Launch, Policy, Runner, Running

SECONDS = 30.0
GRANTED = {"PATH": "/usr/bin:/bin", "GRANTED": "a b=c\n'\"$"}
CALLER = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "CALLER": "seen"}


@dataclass
class Ended:
    """What a launch left behind."""

    argv: tuple[str, ...] = ()
    exit: Exit | None = None  # None: it had to be killed
    output: bytes = b""
    errors: bytes = b""


@dataclass(frozen=True, kw_only=True)
class Bench:
    """One runner, one account, one run directory."""

    runner: Runner
    identity: Identity
    run: Path
    workspace: Path
    environment: Mapping[str, str] = field(default_factory=lambda: dict(CALLER))

    def policy(self, **more: tuple[Path, ...]) -> Policy:
        return Policy(workspace=self.workspace, environment=GRANTED, **more)

    def launch(self, *command: str, policy: Policy | None = None, **more: object) -> Launch:
        return Launch(
            run=self.run,
            policy=policy or self.policy(),
            command=command,
            identity=self.identity,
            cwd=self.workspace,
            environment=self.environment,
            **more,
        )

    def start(self, program: str, **more: object) -> Running:
        """Start a Python program."""
        return self.runner.start(self.launch(self.runner.python(), "-I", "-S", "-c", program, **more))

    def see(self, program: str, **more: object) -> Ended:
        """Start a Python program and see it through."""
        return see(self.start(program, **more))


def see(
    running: Running, until: Callable[[Ended], bool] = lambda ended: False, seconds: float | None = None
) -> Ended:
    """Read until the launcher has ended, or `until` holds; at the deadline it is killed."""
    ended, end = Ended(argv=running.argv), time.monotonic() + (seconds or SECONDS)
    open_ = [running.output] + [running.errors] * (running.errors >= 0)
    try:
        while running.poll() is None and time.monotonic() < end and not until(ended):
            _read(open_, running, ended, 0.01)
        ended.exit = running.poll()
        if ended.exit is None:
            running.kill()
            while running.poll() is None and time.monotonic() < end + SECONDS:
                _read(open_, running, ended, 0.01)
        while open_ and _read(open_, running, ended, 0.3):
            pass
    finally:
        running.close()
    return ended


def _read(open_: list[int], running: Running, ended: Ended, seconds: float) -> bool:
    ready = select.select(open_, [], [], seconds)[0]
    for descriptor in ready:
        data = os.read(descriptor, 65536)
        if not data:
            open_.remove(descriptor)
        elif descriptor == running.output:
            ended.output += data
        else:
            ended.errors += data
    return bool(ready)


@contextmanager
def bench(runner: Runner, identity: Identity) -> Iterator[Bench]:
    """A run directory where every sandbox and account finds its workspace; gone afterwards."""
    run = Path(tempfile.mkdtemp(prefix="escape-matrix-test-", dir="/var/tmp"))
    run.chmod(0o755)
    workspace = run / "ws-1"
    workspace.mkdir()
    workspace.chmod(0o777)
    own(workspace, identity)
    try:
        yield Bench(runner=runner, identity=identity, run=run, workspace=workspace)
    finally:
        runner.close()
        shutil.rmtree(run)


def own(path: Path, identity: Identity) -> None:
    if os.geteuid() == 0:
        os.chown(path, identity.uid, identity.gid)


def identities() -> list[Identity]:
    """This process's account and, where it is root, an ordinary one of this machine."""
    found = [Identity.current()]
    if found[0].root:
        people = [each for each in pwd.getpwall() if 1000 <= each.pw_uid < 60000]
        found += [Identity.named(each.pw_name) for each in people[:1]]
    return found
