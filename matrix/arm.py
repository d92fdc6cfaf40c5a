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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self, cast

from matrix import places, transcript
from matrix.drive import Driven, drive
from matrix.evidence import Attempted, Blind, Nothing, Observation, Seen, Sighting, Unplanted
from matrix.internet.spelled import spelled
from matrix.ledger import Run
from matrix.model import Case, Reason, Untested
from matrix.row import TWIN, Row, Vigilant
from matrix.scene import egress, scene
from matrix.witnesses.contract import Ground, Unplantable, Witness, fresh_token
from matrix.workspace import ENVIRONMENT, Workspace, environment
from runners.contract import (
    Channel,
    Egress,
    Identity,
    Inexpressible,
    Launch,
    Policy,
    Proxied,
    Runner,
    Running,
    StartError,
)

START = 20.0  # seconds that a sandbox may take to start


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


def _egress(rows: Sequence[Row]) -> Egress | None:
    """What a launch's proxy may reach: the first proxied row's lists, or all that rows around it list."""
    for row in rows:
        if row.planted.egress:
            return row.planted.egress[0]
    lists = [egress(scene(spelled(row.case.plant)), {}, "") for row in rows if row.case.direct]
    if not lists:
        return None
    return replace(
        lists[0],
        manifest=tuple(dict.fromkeys(entry for each in lists for entry in each.manifest)),
        tenant=tuple(dict.fromkeys(entry for each in lists for entry in each.tenant)),
    )


class Arm:
    """Rows that share one launch. Use it as a context manager: leaving takes away what was planted."""

    def __init__(self, setting: Setting, runner: Runner, name: str, cases: Sequence[Case]) -> None:
        self.setting, self.runner, self.name = setting, runner, name
        named = cases[0].workspace if len(cases) == 1 and name != "benign" else ""
        self.workspace = Workspace.create(setting.run, setting.identity, named or "workspace")
        self.rows = {case.id: self._row(case) for case in cases}
        self.driven = Driven()
        self.running: Running | None = None
        self.tasks: list[transcript.Task] = []
        self.benign = False  # of a row about a launch: whether its harmless twin started

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def end(self) -> None:
        """End what is still there of the launch; what was planted stays."""
        self.driven.close()
        self.driven = replace(self.driven, close=lambda: None)

    def close(self) -> None:
        """Take away everything that this arm planted."""
        with ExitStack() as all_of_them:
            all_of_them.callback(self.workspace.remove)
            all_of_them.callback(self.driven.close)
            for row in self.rows.values():
                all_of_them.callback(row.witness.close)

    def _row(self, case: Case) -> Row:
        run, identity = self.setting.run, self.setting.identity
        ground = Ground(
            case=case,
            arm=self.name,
            run=run.directory,
            workspace=self.workspace.directory,
            corner=self.workspace.corner(case.id),
            identity=identity,
            record=run.record,
            carries=self.runner.channels,
            place=lambda place: places.fresh(run, identity, place),
        )
        return Row(case=case, witness=witness_of(case)(ground), ground=ground)

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
            row.skipped = self._unsaid(row)

    def _unsaid(self, row: Row) -> Untested | None:
        """What the sandbox has no words for, of all that it will be asked for this row."""
        policy = self._policy([row])
        for asked in (policy, *(replace(policy, egress=lists) for lists in row.planted.egress[1:])):
            if isinstance(answer := self.runner.express(asked), Inexpressible):
                return Untested(reason=Reason.NOT_EXPRESSIBLE, evidence=answer.why)
        return None

    def _policy(self, rows: Sequence[Row]) -> Policy:
        granted = dict(ENVIRONMENT)
        for row in rows:
            granted |= row.planted.granted
        return Policy(
            workspace=self.workspace.directory,
            hidden=tuple(path for row in rows for path in row.planted.hidden),
            protected=tuple(path for row in rows for path in row.planted.protected),
            environment=granted,
            shown=tuple(dict.fromkeys(path for row in rows for path in row.planted.shown)),
            egress=_egress(rows),
        )

    def _task(self, row: Row, suffix: str, told: Mapping[str, object]) -> transcript.Task:
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

    def _request(self, nonce: str, rows: Sequence[Row]) -> Path:
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
        vigilant = Vigilant(row for row in rows if row.witness.transient)

        def during(said: bytes) -> None:
            for row in vigilant.awake(said):
                self._look(row, None)

        def started(running: Running) -> None:
            self.running = running
            for row in rows:
                row.witness.started(running)

        limit = START + max(row.case.seconds for row in rows) + sum(row.share for row in rows)
        last = transcript.last_word(nonce)
        self.driven = drive(self.runner, launch, limit, during, started, last)
        heard = transcript.read(nonce, self.tasks, self.driven.output, ended=self.driven.ended)
        for row in rows:
            row.attempted = heard.attempts[row.case.id]
            row.twin = heard.attempts.get(row.case.id + TWIN)
        self._ignored([row for row in rows if row.case.direct])

    def _ignored(self, rows: Sequence[Row]) -> None:
        """A proxy that keeps records has none of rows that went around it; of several, nobody knows whose."""
        if not rows or Channel.RECORDS not in self.runner.channels or self.running is None:
            return
        proxy = cast("Proxied", self.running)
        try:
            denials = proxy.denials()
        except (StartError, OSError, EOFError) as error:
            why = f"the proxy's records cannot be read: {error}"
            for row in rows:
                row.sighting = Blind(why=why)
            return
        for row in rows if denials else ():
            said = f"the proxy has a record of it: {denials[0].kind}, {denials[0].host}"
            row.sighting = Seen(how=said) if len(rows) == 1 else Blind(why=said)

    def _launch(self, rows: Sequence[Row], request: Path) -> Launch:
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

    def _look(self, row: Row, attempted: Attempted | None) -> None:
        if isinstance(row.sighting, Seen | Blind):
            return
        try:
            found = row.witness.look(attempted)
        except OSError as error:
            row.sighting = Blind(why=f"the witness cannot look: {error}")
            return
        if isinstance(found, Seen):
            due = self.driven.at + row.witness.grace
            # what a meeting witness sees came while the launch ran: later it only waits for its turn
            late = bool(self.driven.at) and not row.witness.meets
            latency = max(0.0, time.monotonic() - due) if late else 0.0
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
            if isinstance(row.sighting, Nothing) and (why := self._outlived(row) or row.blindness()):
                row.sighting = Blind(why=why)

    def _outlived(self, row: Row) -> str:
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
            twin=row.twin_answer(benign=self.benign),
            delivery=row.witness.delivery(row.attempted),
            argv=self.driven.argv,
            exit=self.driven.exit,
            errors=self.driven.errors,
            late=self.driven.late,
        )
