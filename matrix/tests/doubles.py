"""Pretended sandboxes, one for each way in which a sandbox or a harness can lie."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from matrix.arm import Setting
from matrix.bracket import Judged, attempt, control, verdicts
from matrix.ledger import Run
from matrix.model import Case
from matrix.sweep import sweep
from runners.contract import Found, Identity, Launch
from runners.local import Local

PRETEND = Path(__file__).with_name("pretend.py")


class Double(Local):
    """A runner that executes pretend.py in one of its modes."""

    def __init__(self, mode: str) -> None:
        super().__init__({})
        self.mode = mode

    def find(self, identity: Identity) -> Found:
        """Always there."""
        return Found(f"double {self.mode}")

    def argv(self, launch: Launch) -> tuple[str, ...]:
        """The pretender around the command."""
        return (sys.executable, str(PRETEND), self.mode, *launch.command)


TCP = Case(
    id="tcp",
    title="A listener takes a connection",
    mechanism="loopback",
    platforms=("linux", "macos"),
    attack="lo_tcp",
    args={"address": "127.0.0.1"},
    witness="tcp",
    decisive="connect",
    seconds=2,
)
READ = Case(
    id="read",
    title="A file beside the workspace is readable",
    mechanism="filesystem-read",
    platforms=("linux", "macos"),
    attack="path_dotdot_read",
    args={"route": "absolute"},
    witness="file_read",
    decisive="open",
    twin="same-call",
    seconds=2,
)
WRITE = Case(
    id="write",
    title="A file beside the workspace can be overwritten",
    mechanism="filesystem-write",
    platforms=("linux", "macos"),
    attack="path_absolute_write",
    args={"operation": "overwrite"},
    witness="file_change",
    decisive="open",
    twin="same-call",
    seconds=2,
)
LEFT = Case(
    id="left",
    title="A process stays",
    mechanism="leftover-process",
    platforms=("linux", "macos"),
    attack="left_daemon",
    args={"how": "setsid"},
    witness="survivor",
    decisive="fork",
    alone=True,
    seconds=2,
)
ROWS = (TCP, READ, WRITE)


def judged(mode: str, rows: Sequence[Case] = ROWS, *, together: bool = True) -> dict[str, Judged]:
    """The verdicts of a double, end to end, with everything of the run swept."""
    run = Run.create()
    try:
        setting = Setting(run=run, identity=Identity.current())
        groups = [rows] if together else [[row] for row in rows]
        with ExitStack() as stack:
            before = control(stack, rows, setting, "before")
            attempts = attempt(stack, groups, Double(mode), setting, before)
            after = control(stack, rows, setting, "after")
            return verdicts(rows, before, attempts, after)
    finally:
        assert sweep(run) == []
