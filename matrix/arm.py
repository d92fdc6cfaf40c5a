"""One arm of a bracket: plant every row's canary, launch once, look.

The same code runs the control (through the unconfined runner) and the attempt, so that nothing
but the sandbox differs between them.
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from matrix import places, transcript
from matrix.drive import Driven, drive
from matrix.evidence import (
    Absent,
    Acted,
    Attempted,
    Blind,
    Nothing,
    NotStarted,
    Observation,
    Refused,
    Seen,
    Sighting,
    Silent,
    TwinAnswer,
    Unplanted,
)
from matrix.ledger import Run
from matrix.model import Case, Reason, Untested
from matrix.witnesses.contract import Ground, Planted, Unplantable, Witness, fresh_token
from matrix.workspace import ENVIRONMENT, Workspace, environment
from runners.contract import Channel, Identity, Inexpressible, Launch, Policy, Runner, Running

START = 20.0  # seconds that a sandbox may take to start
TWIN = "#twin"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What all arms of a run share."""

    run: Run
    identity: Identity
    facts: Mapping[str, str] = field(default_factory=dict[str, str])  # host facts, for failed controls
    options: tuple[str, ...] = ()  # of this run's command line, that a repetition needs too


def witness_of(case: Case) -> type[Witness]:
    """The class of the row's witness."""
    return importlib.import_module(f"matrix.witnesses.{case.witness}").Witness


@dataclass
class _Row:
    """One row in one arm."""

    case: Case
    witness: Witness
    ground: Ground
    planted: Planted = field(default_factory=Planted)
    sighting: Sighting = field(default_factory=Nothing)
    attempted: Attempted = field(default_factory=lambda: Attempted(said=Silent(why="not launched")))
    twin: Attempted | None = None
    skipped: Untested | None = None

    @property
    def launched(self) -> bool:
        return self.skipped is None and not isinstance(self.sighting, Unplanted)


def _check(witness: Witness) -> str:
    """Why the witness could not have seen; one that breaks over the question is blind."""
    try:
        return witness.check()
    except OSError as error:
        return str(error)


class Arm:
    """Rows that share one launch. Use it as a context manager: leaving takes away what was planted."""

    def __init__(self, setting: Setting, runner: Runner, name: str, cases: Sequence[Case]) -> None:
        self.setting, self.runner, self.name = setting, runner, name
        named = cases[0].workspace if len(cases) == 1 and name != "benign" else ""
        self.workspace = Workspace.create(setting.run, setting.identity, named or "workspace")
        self.rows = {case.id: self._row(case) for case in cases}
        self.driven = Driven()
        self.tasks: list[transcript.Task] = []
        self.benign = False  # of a row about a launch: whether its harmless twin started

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Take away everything that this arm planted."""
        with ExitStack() as all_of_them:
            all_of_them.callback(self.workspace.remove)
            all_of_them.callback(self.driven.close)
            for row in self.rows.values():
                all_of_them.callback(row.witness.close)

    def _row(self, case: Case) -> _Row:
        run, identity = self.setting.run, self.setting.identity
        ground = Ground(
            case=case,
            arm=self.name,
            run=run.directory,
            workspace=self.workspace.directory,
            corner=self.workspace.corner(case.id),
            identity=identity,
            record=run.record,
            place=lambda place: places.fresh(run, identity, place),
        )
        return _Row(case=case, witness=witness_of(case)(ground), ground=ground)

    def plant(self) -> None:
        """Plant every row; what cannot be planted, or not be asked of the sandbox, is left out."""
        for row in self.rows.values():
            try:
                row.planted = row.witness.plant()
            except Unplantable as why:
                row.sighting = Unplanted(why=str(why))
                continue
            except OSError as error:
                row.sighting = Unplanted(why=f"could not plant: {error}")
                continue
            asked = self._policy([row])
            if isinstance(answer := self.runner.express(asked), Inexpressible):
                row.skipped = Untested(reason=Reason.NOT_EXPRESSIBLE, evidence=answer.why)

    def _policy(self, rows: Sequence[_Row]) -> Policy:
        granted = dict(ENVIRONMENT)
        for row in rows:
            granted |= row.planted.granted
        return Policy(
            workspace=self.workspace.directory,
            hidden=tuple(path for row in rows for path in row.planted.hidden),
            protected=tuple(path for row in rows for path in row.planted.protected),
            environment=granted,
        )

    def _task(self, row: _Row, suffix: str, told: Mapping[str, object]) -> transcript.Task:
        token = fresh_token()
        name = f"{row.case.id}{suffix}"
        common = {"workspace": str(self.workspace.directory), "harness": os.getpid()}
        return transcript.Task(
            id=name,
            attack=row.case.attack,
            told={**common, **row.case.args, **told},
            seconds=row.case.seconds,
            alive=str(self.workspace.token(name, token)),
            token=token,
        )

    def _request(self, nonce: str, rows: Sequence[_Row]) -> Path:
        """Lay what the attempts need into the workspace."""
        for row in rows:
            self.tasks.append(self._task(row, "", row.planted.told))
            if row.case.twin == "same-call":
                self.tasks.append(self._task(row, TWIN, row.planted.twin))
        return self.workspace.lay(nonce, self.tasks)

    def launch(self) -> None:
        """Start the sandbox once for all planted rows, and see it through."""
        rows = [row for row in self.rows.values() if row.launched]
        if not rows:
            return
        nonce = fresh_token()
        launch = self._launch(rows, self._request(nonce, rows))
        transient = [row for row in rows if row.witness.transient]

        def during() -> None:
            for row in transient:
                self._look(row, None)

        def started(running: Running) -> None:
            for row in rows:
                row.witness.started(running)

        limit = START + max(row.case.seconds for row in rows) + len(rows) / 4
        last = transcript.last_word(nonce)
        self.driven = drive(self.runner, launch, limit, during, started, last)
        heard = transcript.read(nonce, self.tasks, self.driven.output, ended=self.driven.ended)
        for row in rows:
            row.attempted = heard.attempts[row.case.id]
            row.twin = heard.attempts.get(row.case.id + TWIN)

    def _launch(self, rows: Sequence[_Row], request: Path) -> Launch:
        terminals = [row.planted.terminal for row in rows if row.planted.terminal]
        folders = [row.planted.cwd for row in rows if row.planted.cwd]
        return Launch(
            run=self.setting.run.directory,
            policy=self._policy(rows),
            command=self.workspace.command(self.runner, request),
            identity=self.setting.identity,
            cwd=folders[0] if folders else self.workspace.directory,
            environment=environment(
                self.setting.identity, *(row.planted.environment.items() for row in rows)
            ),
            descriptors=tuple(fd for row in rows for fd in row.planted.descriptors),
            terminal=terminals[0] if terminals else None,
            channels=frozenset[Channel]().union(*(row.case.channels for row in rows)),
        )

    def _look(self, row: _Row, attempted: Attempted | None) -> None:
        if isinstance(row.sighting, Seen | Blind):
            return
        try:
            found = row.witness.look(attempted)
        except OSError as error:
            row.sighting = Blind(why=f"the witness cannot look: {error}")
            return
        if isinstance(found, Seen):
            due = self.driven.at + row.witness.grace
            latency = max(0.0, time.monotonic() - due) if self.driven.at else 0.0
            row.sighting = Seen(how=found.how, latency=latency)

    def watch(self, wait: Mapping[str, float]) -> None:
        """Look until every row was seen, or its time (seconds) since it could be seen is over."""
        rows = [row for row in self.rows.values() if row.launched]
        while rows:
            for row in rows:
                self._look(row, row.attempted)
            since = time.monotonic() - self.driven.at
            rows = [
                row
                for row in rows
                if isinstance(row.sighting, Nothing) and row.witness.grace + wait[row.case.id] > since
            ]
            if rows:
                time.sleep(0.005)

    def settle(self) -> None:
        """A last look for late canaries, then each witness proves that it still could have seen one."""
        for row in self.rows.values():
            if not row.launched:
                continue
            self._look(row, row.attempted)
            if isinstance(row.sighting, Nothing) and (why := self._outlived(row) or _check(row.witness)):
                row.sighting = Blind(why=why)

    def _outlived(self, row: _Row) -> str:
        """Why nothing of the attempt could still be there when the launcher ended; empty when it could."""
        stayed, lasts = self.driven.stayed, row.witness.lasts
        if stayed <= lasts:
            return ""
        return f"what was left ends by itself, and the launcher stayed {stayed:.1f} s after its last word"

    def again(self, case: Case) -> Sighting:
        """One more look for a row's canary, at any time before this arm is closed."""
        row = self.rows[case.id]
        self._look(row, row.attempted)
        return row.sighting

    def observation(self, case: Case) -> Observation:
        """What this arm came to for one row."""
        row = self.rows[case.id]
        return Observation(
            attempted=row.attempted,
            sighting=row.sighting,
            twin=self._twin(row),
            argv=self.driven.argv,
            exit=self.driven.exit,
            errors=self.driven.errors,
            late=self.driven.late,
        )

    def _twin(self, row: _Row) -> TwinAnswer:
        if row.case.subject == "launch" and isinstance(row.attempted.said, NotStarted):
            return TwinAnswer.ANSWERED if self.benign else TwinAnswer.SILENT
        if row.case.twin == "alive" or row.twin is None:
            return TwinAnswer.ANSWERED if row.attempted.alive else TwinAnswer.SILENT
        match row.twin.said:
            case Acted() if row.witness.twin(row.twin):
                return TwinAnswer.ANSWERED
            case Acted() | Refused() | Absent():  # absent: what the policy grants did not arrive
                return TwinAnswer.REFUSED
            case NotStarted() | _:
                return TwinAnswer.SILENT
