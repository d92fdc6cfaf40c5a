"""The smoke launch: a backend counts only after it started, spoke, and did not know an unknown attack."""

from __future__ import annotations

from dataclasses import dataclass

from matrix import transcript
from matrix.arm import START, Setting
from matrix.drive import Driven, drive
from matrix.evidence import Attempted, NotStarted, Silent, Unsupported
from matrix.witnesses.contract import fresh_token
from matrix.workspace import ENVIRONMENT, Workspace, environment
from runners.contract import Launch, Policy, Runner

NOBODY = "no_such_attack"
UNKNOWN = "unknown attack"  # what the in-sandbox launcher answers


@dataclass(frozen=True, kw_only=True)
class Smoke:
    """What came of it; `failure` is empty when the backend counts."""

    failure: str


_done: dict[tuple[str, str, str], Smoke] = {}


def smoke(backend: str, runner: Runner, setting: Setting) -> Smoke:
    """Launch once per column and process; a second call gives the first one's answer."""
    key = (backend, str(setting.run.directory), setting.identity.name)
    if key not in _done:
        _done[key] = Smoke(failure=_failure(ask(runner, setting, NOBODY)))
    return _done[key]


def ask(runner: Runner, setting: Setting, attack: str) -> Attempted:
    """Launch one attempt that needs no plant, and hear it."""
    workspace = Workspace.create(setting.run, setting.identity)
    nonce, token = fresh_token(), fresh_token()
    alive = workspace.token(attack, token)
    task = transcript.Task(id=attack, attack=attack, told={}, seconds=5, alive=str(alive), token=token)
    driven = Driven()
    try:
        asked = workspace.lay(nonce, [task])
        launch = Launch(
            run=setting.run.directory,
            policy=Policy(workspace=workspace.directory, environment=ENVIRONMENT),
            command=workspace.command(runner, asked),
            identity=setting.identity,
            cwd=workspace.directory,
            environment=environment(setting.identity),
        )
        last = transcript.last_word(nonce)
        driven = drive(runner, launch, START, lambda _: None, lambda _: None, last)
        return transcript.read(nonce, [task], driven.output, ended=driven.ended).attempts[attack]
    finally:
        driven.close()
        workspace.remove()


def _failure(attempted: Attempted) -> str:
    match attempted.said:
        case Unsupported(why=why) if why == UNKNOWN and attempted.alive:
            return ""
        case Unsupported(why=why) if why == UNKNOWN:
            return "it started and spoke, but the workspace cannot be read inside"
        case NotStarted(why=why):
            return f"nothing spoke inside: {why}"
        case Silent(why=why):
            return f"it spoke and then broke: {why}"
        case said:
            return f"an unknown attack was answered with {type(said).__name__.lower()}"
