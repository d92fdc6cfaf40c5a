"""What a witness is: it plants one attempt's canary, and afterwards says whether it crossed.

A witness module has one class `Witness`, made afresh for each arm of each row.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from matrix.evidence import Arrived, Attempted, Delivery, Sighting
from matrix.model import Case
from runners.contract import Channel, Egress, Identity, Running


class Unplantable(Exception):  # noqa: N818 - it is an answer, not a failure of ours
    """This host cannot hold the canary; the text names the switch or the missing right."""


def fresh_token() -> str:
    """A canary of 128 random bits as printable text."""
    return "em" + secrets.token_hex(16)


@dataclass(frozen=True, kw_only=True)
class Ground:
    """Where and for whom one arm of one row plants."""

    case: Case
    arm: str  # "before", "attempt", "after"; "benign" is the harmless twin of a row about a launch
    run: Path  # the run's directory
    workspace: Path  # the launch's workspace
    corner: Path  # this row's own directory in it
    identity: Identity
    record: Callable[[str, str], None]  # the run's ledger: kind and name of what must be swept
    place: Callable[[str], Path]  # a fresh directory outside, owned by the identity; raises Unplantable
    carries: frozenset[Channel] = frozenset()  # what this arm's runner carries
    token: str = field(default_factory=fresh_token)  # the canary
    twin_token: str = field(default_factory=fresh_token)

    def own(self, path: Path, mode: int = 0o666) -> Path:
        """Give a planted object to the identity, open to whatever uid the sandbox maps it to."""
        if os.geteuid() == 0:
            os.chown(path, self.identity.uid, self.identity.gid, follow_symlinks=False)
        if not path.is_symlink():
            path.chmod(mode)
        return path

    def file(self, path: Path, content: str, mode: int = 0o666) -> Path:
        """Plant a file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return self.own(path, mode)

    def folder(self, path: Path, mode: int = 0o777) -> Path:
        """Plant a directory."""
        path.mkdir(parents=True, exist_ok=True)
        return self.own(path, mode)

    def remove(self, path: Path) -> None:
        """Take away what was planted."""
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


@dataclass(frozen=True, kw_only=True)
class Planted:
    """What a plant asks of the launch and tells the attack."""

    told: Mapping[str, Any] = field(default_factory=dict[str, Any])  # beside the row's own args
    twin: Mapping[str, Any] = field(default_factory=dict[str, Any])  # the same for a same-call twin
    hidden: tuple[Path, ...] = ()  # asked of the policy
    protected: tuple[Path, ...] = ()
    granted: Mapping[str, str] = field(default_factory=dict[str, str])  # variables that the policy allows
    environment: Mapping[str, str] = field(
        default_factory=dict[str, str]
    )  # variables of the launcher's caller
    descriptors: tuple[int, ...] = ()  # open files for the launcher to inherit, by their own numbers
    terminal: Path | None = None
    shown: tuple[Path, ...] = ()  # folders of programs that the attack starts
    egress: tuple[Egress, ...] = ()  # what a proxy may reach: at the launch, and what is asked of it later
    cwd: Path | None = None  # where the launcher is started, if not in the workspace


class Witness(Protocol):
    """One observer for one arm of one row."""

    transient: bool
    """Whether the canary may be visible only during the run, so that look() is called throughout."""

    meets: bool
    """Whether that is only for meetings of its own attempt, so that others need not wake it."""

    grace: float
    """Seconds after the launcher's exit in which nothing counts yet."""

    patience: float
    """Seconds after that within which a control's canary must have been seen."""

    lasts: float
    """Seconds for which what an attempt leaves behind is there at least, before it ends by itself."""

    def __init__(self, ground: Ground) -> None:
        """Keep the ground; plant nothing yet."""
        ...

    def plant(self) -> Planted:
        """Plant the canary and begin to observe. Raises Unplantable, or OSError as a fault."""
        ...

    def started(self, running: Running) -> None:
        """The launcher runs; of a runner with the channel PROXY it is also a `Proxied`."""
        ...

    def look(self, attempted: Attempted | None) -> Sighting:
        """Whether the canary has crossed by now: Seen or Nothing, at once and as often as asked.

        `attempted` is what the attempt said, None while it is still running. A read counts as
        crossing only when its trace holds the canary. Once seen stays seen.
        """
        ...

    def check(self) -> str:
        """Why this very witness could not have seen a canary; empty when it still could, proved afresh."""
        ...

    def twin(self, attempted: Attempted) -> bool:
        """Whether the same-call twin did what the policy grants; True for rows with an alive twin."""
        ...

    def delivery(self, attempted: Attempted) -> Delivery:
        """Whether everything that the row lets through has arrived where it says."""
        ...

    def close(self) -> None:
        """Stop observing and take away everything planted. Called once, also after a failed plant."""
        ...


class Watching:
    """Defaults for a witness that has nothing to say to some of the questions."""

    transient = False
    meets = False
    grace = 0.0
    patience = 0.5
    lasts = float("inf")

    def __init__(self, ground: Ground) -> None:
        """Keep the ground."""
        self.ground = ground

    def started(self, running: Running) -> None:
        """Nothing to note."""

    def check(self) -> str:
        """Sees as long as the file system answers."""
        return ""

    def twin(self, attempted: Attempted) -> bool:
        """An alive twin is the arm's to check."""
        del attempted
        return True

    def delivery(self, attempted: Attempted) -> Delivery:
        """Nothing had to get through."""
        del attempted
        return Arrived()

    def close(self) -> None:
        """Nothing was planted outside the run's directory."""
