"""The conversation with the in-sandbox launcher: the request we write, the lines it answers.

What arrives is hostile: only whole lines that begin with this launch's nonce count, everything is
bounded, and a line that does not parse is passed over. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from matrix.evidence import (
    Absent,
    Acted,
    Attempted,
    Died,
    NotStarted,
    Refused,
    Said,
    Silent,
    TimedOut,
    Unsupported,
)

LIMIT = 8 << 20  # bytes of output that one launch may produce
STEPS = 64  # steps kept of one attempt
_ID = re.compile(rb'"id": "([^"]*)"')
TEXT = 4096  # characters kept of any text that an attack reports


@dataclass(frozen=True, kw_only=True)
class Task:
    """One attempt, or its same-call twin, as the launcher is asked to run it."""

    id: str
    attack: str
    told: Mapping[str, Any]
    seconds: float
    alive: str  # path of the file that holds the token
    token: str  # what that file holds; never told


def last_word(nonce: str) -> bytes:
    """What the launcher's output ends with when it has seen all attempts through."""
    return f'{nonce} {{"kind": "bye"}}'.encode()


def named(said: bytes) -> set[str]:
    """The ids that stand in a piece of a launch's output: whose witnesses may have something to do."""
    return {found.decode("utf-8", "replace") for found in _ID.findall(said)}


def request(nonce: str, tasks: list[Task]) -> str:
    """The launcher's request as JSON text."""
    attempts = [
        {"id": t.id, "attack": t.attack, "told": dict(t.told), "seconds": t.seconds, "alive": t.alive}
        for t in tasks
    ]
    return json.dumps({"nonce": nonce, "attempts": attempts})


@dataclass
class _Spoken:
    """What has been heard of one attempt so far."""

    begun: int = 0
    steps: list[str] = field(default_factory=list[str])
    said: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    end: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, kw_only=True)
class Transcript:
    """All that one launch said."""

    hello: bool
    attempts: Mapping[str, Attempted]


def read(nonce: str, tasks: list[Task], output: bytes, *, ended: str) -> Transcript:
    """Understand a launch's output. `ended` says how the launcher ended, for attempts it never reached."""
    spoken = {task.id: _Spoken() for task in tasks}
    hello = False
    for line in _lines(nonce, output):
        kind = line.get("kind")
        if kind == "hello":
            hello = True
        one = spoken.get(str(line.get("id")))
        if one is None:
            continue
        match kind:
            case "begin":
                one.begun += 1
            case "step" if len(one.steps) < STEPS:
                one.steps.append(str(line.get("step"))[:80])
            case "said" if len(one.said) < STEPS:
                one.said.append(line)
            case "end" if not one.end:
                one.end = line
            case _:
                pass
    if not hello:
        nothing = Attempted(said=NotStarted(why=ended))
        return Transcript(hello=False, attempts={task.id: nothing for task in tasks})
    heard = {task.id: _attempted(task, spoken[task.id], ended) for task in tasks}
    return Transcript(hello=True, attempts=heard)


def _lines(nonce: str, output: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    start = nonce.encode() + b" "
    for raw in output[:LIMIT].split(b"\n"):
        # A terminal or an earlier unfinished print may stand before the nonce.
        at = raw.find(start)
        if at < 0:
            continue
        try:
            line = json.loads(raw[at + len(start) :])
        except ValueError:
            continue
        if isinstance(line, dict):
            found.append(line)  # pyright: ignore[reportUnknownArgumentType] - checked field by field
    return found


def _attempted(task: Task, spoken: _Spoken, ended: str) -> Attempted:
    end = spoken.end
    return Attempted(
        said=_said(spoken, ended),
        steps=tuple(spoken.steps),
        alive=bool(end) and end.get("alive") == task.token,
        seconds=_number(end.get("seconds")),
    )


def _said(spoken: _Spoken, ended: str) -> Said:
    end = spoken.end
    if not spoken.begun:
        return Silent(why=f"the launcher ended before this attempt: {ended}")
    if spoken.begun > 1 or len(spoken.said) > 1:
        return _several(spoken.said)
    if not spoken.said:
        if not end:
            return Silent(why=f"the attempt was cut off: {ended}")
        if end.get("late"):
            return TimedOut()
        if number := int(_number(end.get("signal"))):
            return Died(signal=number)
        return Silent(why="the attempt ended without a word")
    return _word(spoken.said[0])


def _several(all_of_them: list[dict[str, Any]]) -> Said:
    """An attempt that ran more than once: no refusal counts, and whatever came back in one of them does."""
    words = [_word(said) for said in all_of_them]
    if words and all(isinstance(word, Unsupported) for word in words):
        return words[0]  # which proves nothing either way, and lets the smoke launch pass
    acted = [word for word in words if isinstance(word, Acted)]
    if acted:
        return Acted(trace="\n".join(word.trace + word.inside for word in acted))
    return Silent(why="the attempt ran more than once, and its answers are not one launch's")


def _word(said: dict[str, Any]) -> Said:
    match said.get("said"):
        case "refused":
            return Refused(errno=int(_number(said.get("errno"))), text=_full(said.get("text")))
        case "acted":
            return Acted(trace=_full(said.get("trace")), inside=_text(said.get("inside")))
        case "absent":
            return Absent(looked_at=_text(said.get("looked_at")))
        case "unsupported":
            return Unsupported(why=_text(said.get("why")))
        case "timed_out":
            return TimedOut()
        case _:
            return Silent(why=_text(said.get("text")) or "the attempt crashed")


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _text(value: object) -> str:
    return str(value or "")[:TEXT]


def _full(value: object) -> str:
    """A trace is compared with the canary, so it is kept whole, up to what the launcher sends."""
    return str(value or "")[: 1 << 16]
