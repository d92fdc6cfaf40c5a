"""What a person asks of tier 1 by the command line: run a command, learn from its refusals, check a list."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO, Any

from runners.contract import Denial, Egress, Identity, Launch, Missing, Policy, StartError
from runners.tier1 import wire
from runners.tier1.learn import propose
from runners.tier1.lint import lint
from runners.tier1.runner import Runner
from runners.tier1.running import Placeholders
from runners.tier1.serving import Serving
from runners.tier1.standard import Standard
from runners.tier1.visible import visible
from runners.tier1.words import line

CANNOT = 125  # exit code: the sandbox could not be started
FAULTS = 1  # exit code: something is wrong with a list
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One `run`."""

    command: tuple[str, ...]
    policy: Policy
    records: Path | None = None  # where refusals are appended
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])  # of the runner


def run(asked: Asked) -> int:
    """Run the command in the sandbox, on the standard three that we have; gives its exit code."""
    if asked.policy.egress is not None and (faults := lint(asked.policy.egress)):
        return complain(str(fault) for fault in faults)
    runner, identity = Runner({"mode": "strict", **asked.options}), Identity.current()
    if isinstance(found := runner.find(identity), Missing):
        return _cannot(f"{found.what}; {found.fix}")
    with _opened(asked.records) as records, tempfile.TemporaryDirectory(prefix="tier1-") as folder:
        placeholders = Placeholders(asked.policy)
        launch = Launch(
            run=Path(folder),
            policy=asked.policy,
            command=asked.command,
            identity=identity,
            cwd=asked.policy.workspace,
            environment=os.environ,
        )
        try:
            return _see_through(runner, launch, records)
        except (StartError, OSError, ValueError) as error:
            return _cannot(str(error))
        finally:
            placeholders.remove()


@contextmanager
def _opened(records: Path | None) -> Generator[IO[str] | None]:
    """The file of the records, from before the command could put another in its place. Raises OSError."""
    if records is None:
        yield None
        return
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK  # no link and no pipe
    with os.fdopen(os.open(records, flags, 0o644), "a", encoding="utf-8") as file:
        yield file


def _see_through(runner: Runner, launch: Launch, records: IO[str] | None) -> int:
    standard = Standard()
    try:
        with runner.prepared(launch) as (prepared, serving):
            stdin, stdout, stderr = standard.given
            child = subprocess.Popen(
                prepared.argv,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=prepared.descriptors,
                cwd=launch.cwd,
            )
    finally:
        standard.started()
    try:
        _pass_on(child)
        code = child.wait()
        standard.finish()
        if serving:
            _tell(serving, records)
    finally:
        if serving:
            serving.close()
    return code if code >= 0 else 128 - code


def _pass_on(child: subprocess.Popen[bytes]) -> None:
    """Signals that end us end the child; an interrupt from the terminal has reached it already."""

    def end(number: int, frame: FrameType | None) -> None:
        del number, frame
        child.terminate()

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)


def _tell(serving: Serving, records: IO[str] | None) -> None:
    """Write the refusals down, and show each once."""
    denials = serving.denials()
    if records is not None:
        records.writelines(json.dumps(asdict(denial)) + "\n" for denial in denials)
    for denial in dict.fromkeys(denials):
        print(f"tier1: {line(denial)}", file=sys.stderr)


def learn(records: Path) -> int:
    """Print the entries that would allow what was refused, each with the lists it may go on."""
    try:
        denials = [_denial(text) for text in records.read_text(encoding="utf-8").splitlines() if text.strip()]
    except (OSError, ValueError, KeyError, TypeError) as error:
        return _cannot(f"{records} holds no records of `run --records`: {error}")
    for proposal in propose(denials):
        print(f"{proposal.entry}\t{' or '.join(proposal.lists)}")
    return 0


def _denial(text: str) -> Denial:
    return wire.denial(json.loads(text))


def check(egress: Egress) -> int:
    """Print all that is wrong with the lists; 0 when nothing is."""
    if faults := lint(egress):
        return complain(str(fault) for fault in faults)
    count = len(egress.manifest) + len(egress.tenant)
    print(f"{count} {'entry' if count == 1 else 'entries'}, nothing wrong")
    return 0


def complain(faults: Iterable[str]) -> int:
    """Print faults, one a line."""
    for fault in faults:
        print(f"tier1: {visible(fault)}", file=sys.stderr)
    return FAULTS


def entries(file: Path | None, more: Sequence[str] = ()) -> tuple[str, ...]:
    """The entries of a list: one a line, from # on a comment, and those given beside it. Raises OSError."""
    lines = file.read_bytes().decode().split("\n") if file else []  # and nothing else ends a line
    read = (text.removesuffix("\r").partition("#")[0].strip(" \t") for text in lines)
    return (*(entry for entry in read if entry), *more)


def resolver(text: str) -> tuple[str, int]:
    """Whom the proxy asks for names: "address", "address:port" or "" for the machine's own first one."""
    if text:
        address, colon, port = text.rpartition(":")
        return (
            (address.strip("[]"), int(port))
            if colon and (":" not in address or "]" in address)
            else (text, 53)
        )
    try:
        lines = Path("/etc/resolv.conf").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    found = [words[1] for words in map(str.split, lines) if len(words) > 1 and words[0] == "nameserver"]
    return (found or ["127.0.0.1"])[0], 53


def environment(given: Sequence[str], passed: Sequence[str]) -> dict[str, str]:
    """The command's variables: a path, a home, the terminal's name, what is set and what is passed on."""
    own = {"PATH": _PATH, "HOME": "/tmp", "LANG": "C.UTF-8"}  # noqa: S108 - a private one, inside
    kept = {name: os.environ[name] for name in ("TERM", *passed) if name in os.environ}
    return {**own, **kept, **dict(each.split("=", 1) for each in given)}


def _cannot(why: str) -> int:
    print(f"tier1: {visible(why)}", file=sys.stderr)
    return CANNOT
