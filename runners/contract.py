"""What the harness asks of a sandbox, and what a sandbox's runner answers.

A runner is a class that satisfies `Runner`. It knows how one kind of sandbox is
started and nothing of attacks, witnesses or verdicts.
"""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Protocol

from runners.egress import Denial, Egress, Proposal


class Channel(StrEnum):
    """Something that a runner carries from the harness to the attack."""

    TERMINAL = "terminal"  # the launcher's standard input may be a terminal of the caller's
    DESCRIPTORS = "descriptors"  # the launcher inherits open files of the caller's
    CALLER_ENVIRONMENT = "caller-environment"  # the launcher runs with the caller's environment
    WRAPPER_PROCESS = "wrapper-process"  # a local process stands for the sandbox and can be killed
    SAME_PATHS = "same-paths"  # the workspace has the same path inside and outside
    NETWORK_WORLD = "network-world"  # the sandbox starts in the network namespace of its launcher
    PROXY = "proxy"  # the command reaches what the policy's egress lists by a proxy of the runner's
    RECORDS = "records"  # that proxy keeps a record of every refusal, with the list to change
    DIAL_LOG = "dial-log"  # that proxy writes every address down before it dials it
    DECISIONS = "decisions"  # questions about lists and manifests are answered without a launch


ARGV_CHANNELS = frozenset(Channel) - {Channel.PROXY, Channel.RECORDS, Channel.DIAL_LOG, Channel.DECISIONS}
"""What every launcher that is one local process carries."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What a backend is asked to enforce. Whatever is not granted here is forbidden."""

    workspace: Path  # readable and writable
    hidden: tuple[Path, ...] = ()  # below the workspace: must not be readable
    protected: tuple[Path, ...] = ()  # below the workspace: must not be created or changed
    environment: Mapping[str, str] = field(default_factory=dict[str, str])  # all that the command may see
    shown: tuple[Path, ...] = ()  # beside the workspace: readable, never writable (programs that rows start)
    egress: Egress | None = None  # what a proxy may reach; None: no network at all


@dataclass(frozen=True, kw_only=True)
class Identity:
    """The account that control and sandbox run as."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: Path

    @classmethod
    def current(cls) -> Identity:
        """The account of this process."""
        uid = os.geteuid()
        try:
            entry = pwd.getpwuid(uid)
            name, home = entry.pw_name, Path(entry.pw_dir)
        except KeyError:  # a container may run as a number that has no name
            name, home = str(uid), Path("/")
        return cls(name=name, uid=uid, gid=os.getegid(), groups=tuple(os.getgroups()), home=home)

    @classmethod
    def named(cls, name: str) -> Identity:
        """The account of that name. Raises KeyError where there is none."""
        entry = pwd.getpwnam(name)
        groups = tuple(os.getgrouplist(name, entry.pw_gid))
        return cls(name=name, uid=entry.pw_uid, gid=entry.pw_gid, groups=groups, home=Path(entry.pw_dir))

    @property
    def root(self) -> bool:
        """Whether it is uid 0, which hides many differences."""
        return self.uid == 0


@dataclass(frozen=True, kw_only=True)
class Launch:
    """One start of a sandbox."""

    run: Path  # the run's directory; a runner's own state goes below it
    policy: Policy
    command: tuple[str, ...]  # what to execute inside, an argv
    identity: Identity
    cwd: Path  # where the launcher is started
    environment: Mapping[str, str]  # of the launcher itself, canaries included
    descriptors: tuple[int, ...] = ()  # inherited by the launcher under the same numbers
    terminal: Path | None = None  # becomes standard input and error, and the controlling terminal
    channels: frozenset[Channel] = frozenset()  # what its rows need carried, for a runner with several ways


@dataclass(frozen=True, kw_only=True)
class Exit:
    """How a launcher ended: an exit code, or the number of the signal that ended it."""

    code: int = 0
    signal: int = 0

    def __str__(self) -> str:
        """Reads as a person would say it."""
        return f"signal {self.signal}" if self.signal else f"exit code {self.code}"


class StartError(Exception):
    """The sandbox could not be started at all; the text says why."""


class Running(Protocol):
    """A started sandbox."""

    @property
    def argv(self) -> tuple[str, ...]:
        """What was executed, so that a person can repeat it."""
        ...

    @property
    def pid(self) -> int:
        """The launcher's process id, 0 where there is none (an API)."""
        ...

    @property
    def output(self) -> int:
        """Descriptor that the command's standard output arrives on; end of file when all writers are gone."""
        ...

    @property
    def errors(self) -> int:
        """Descriptor that standard error arrives on (what the launcher itself has to say)."""
        ...

    def poll(self) -> Exit | None:
        """How the launcher ended, None while it runs. Does not wait for pipes to close."""
        ...

    def kill(self) -> None:
        """End the launcher at once, and with it the sandbox as far as the launcher sees to that."""
        ...

    def close(self) -> None:
        """Give back descriptors, and end what is still there of this launch.

        Called once: when nobody looks for a canary any more, or the harness broke meanwhile.
        """
        ...


class Proxied(Running, Protocol):
    """A started command whose only way to the policy's hosts is a proxy of the runner's.

    The command finds it in HTTP_PROXY, HTTPS_PROXY and their lower-case forms.
    """

    def renew(self, egress: Egress) -> None:
        """From now on these lists, as a proxy that has just been started: nothing of before counts.

        The command goes on and finds the proxy where it was. Raises StartError.
        """
        ...

    def change(self, egress: Egress) -> tuple[str, ...]:
        """Change the lists of the running proxy, as an administrator does; gives why it was refused.

        When it returns, the change is in force, or refused whole and the old lists are.
        """
        ...

    def denials(self) -> Sequence[Denial]:
        """The records since `renew`, oldest first. Without the channel RECORDS always empty."""
        ...

    def proposals(self) -> Sequence[Proposal]:
        """What would allow what was refused since `renew`. Without the channel RECORDS always empty."""
        ...

    def dials(self) -> Sequence[str]:
        """The addresses dialled since `renew`, "address:port" each. Without DIAL_LOG always empty."""
        ...

    def log(self) -> str:
        """What the node's own log says since `renew`."""
        ...

    @property
    def neighbour(self) -> str:
        """Where the neighbour's proxy would be for a command outside: its URL; empty where there is none."""
        ...


class Decides(Protocol):
    """A runner with the channel DECISIONS."""

    def decide(self, question: str, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to a question of a row, without a launch. Raises KeyError for an unknown question."""
        ...


@dataclass(frozen=True)
class Found:
    """The sandbox can be started here."""

    version: str  # first line of what the program says of itself
    path: str = ""


@dataclass(frozen=True)
class Missing:
    """The sandbox cannot be started here: what is missing, and the command that brings it."""

    what: str
    fix: str = ""


@dataclass(frozen=True)
class Expressible:
    """The policy can be said in this sandbox's language."""


@dataclass(frozen=True)
class Inexpressible:
    """This part of the policy cannot be said to this sandbox."""

    why: str


class Runner(Protocol):
    """One kind of sandbox, configured by the `options` of one table in backends.toml.

    `__init__(options)` must not touch the machine; `OPTIONS` is the JSON Schema of what it takes.
    """

    OPTIONS: ClassVar[Mapping[str, Any]]
    channels: frozenset[Channel]

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Keep the options; they have been checked against OPTIONS."""
        ...

    def find(self, identity: Identity) -> Found | Missing:
        """Whether the program is here and this account may use it. Starts nothing but `--version`."""
        ...

    def express(self, policy: Policy) -> Expressible | Inexpressible:
        """Whether this policy can be asked of the sandbox."""
        ...

    def start(self, launch: Launch) -> Running:
        """Start the command in a fresh sandbox. Raises StartError."""
        ...

    def python(self) -> str:
        """The interpreter to use inside, as a path that exists there."""
        ...

    def close(self) -> None:
        """End whatever service the runner itself started."""
        ...


def default_python() -> str:
    """An interpreter that an ordinary account and a sandbox showing /usr can reach."""
    return "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable
