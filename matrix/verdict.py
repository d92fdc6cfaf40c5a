"""The verdict table: a pure function from three arms to held, escaped or untested.

The order of the questions is the table's. Nothing falls through to held: each way to it is named,
and whatever is not named is untested.
"""

from __future__ import annotations

import errno
import signal
from dataclasses import dataclass

from matrix.evidence import (
    Absent,
    Acted,
    Arrived,
    Blind,
    Died,
    Missed,
    Nothing,
    NotStarted,
    Observation,
    Refused,
    Seen,
    Silent,
    TimedOut,
    TwinAnswer,
    Unplanted,
    Unsupported,
)
from matrix.model import Case, Escaped, Held, Reason, Untested, Verdict

FAULTS = frozenset(
    {
        errno.EFAULT,
        errno.EINVAL,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOMEM,
        errno.ENOBUFS,
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EINTR,
        errno.EAGAIN,
        errno.ENAMETOOLONG,
        errno.ENOEXEC,
        errno.EFBIG,
        errno.E2BIG,
        errno.ETXTBSY,
        errno.ENOLCK,
        errno.EADDRINUSE,
    }
)
"""Errors of the attack or of the host: never a refusal by the sandbox."""

PATIENCE = 10  # a time-out is a refusal only where both controls took under a tenth of the deadline


@dataclass(frozen=True, kw_only=True)
class Bracket:
    """The three arms of one cell."""

    before: Observation
    attempt: Observation
    after: Observation
    switches: str = ""  # the host facts that may explain a failed control, written out


def judge(case: Case, bracket: Bracket) -> Verdict:
    """The verdict of one cell."""
    seen = bracket.attempt.sighting
    if isinstance(seen, Seen):
        return Escaped(evidence=seen.how)
    if fault := _before_the_attempt(bracket):
        return fault
    told = _what_went_through(case, bracket) if case.proxied else _what_it_said(case, bracket)
    if isinstance(told, Untested):
        return told
    return _twin(case, bracket) or _closing(bracket) or told


def _before_the_attempt(bracket: Bracket) -> Untested | None:
    """Why the attempt cannot count, whatever it said."""
    before, attempt = bracket.before, bracket.attempt
    match before.sighting:
        case Seen():
            pass
        case Unplanted(why=why) | Blind(why=why):
            return _untested(Reason.CONTROL_FAILED, why)
        case Nothing():
            said = describe(before)
            switches = f"; {bracket.switches}" if bracket.switches else ""
            return _untested(Reason.CONTROL_FAILED, f"unconfined: {said}{switches}")
    if before.twin is not TwinAnswer.ANSWERED:
        return _untested(Reason.FAULT, "the twin did not answer unconfined either")
    match attempt.sighting:
        case Unplanted(why=why):
            return _untested(Reason.FAULT, f"nothing was planted for the attempt: {why}")
        case Blind(why=why):
            return _untested(Reason.CONTROL_FLAPPED, f"the witness went blind: {why}")
        case _:
            return None


def _what_it_said(case: Case, bracket: Bracket) -> Held | Untested:
    """The verdict that the attempt's own word allows, before twin and closing control."""
    attempted = bracket.attempt.attempted
    last = attempted.steps[-1] if attempted.steps else "nothing"
    # a row about a proxy goes on after what is refused on the way, so only its last step decides
    decided = last == case.decisive if case.proxied else case.decisive in attempted.steps
    match attempted.said:
        case NotStarted(why=why) if case.subject == "launch" and bracket.attempt.declined:
            return Held(evidence=f"declined: {why}")  # its twin is the benign launch, which must start
        case NotStarted(why=why):
            return _untested(Reason.NOT_STARTED, why)
        case Unsupported(why=why):
            return _untested(Reason.UNSUPPORTED, why)
        case Silent(why=why):
            return _untested(Reason.FAULT, why)
        case Refused(errno=code) as refusal if code in FAULTS or code == 0:
            return _untested(Reason.FAULT, f"{last}: {refusal} is no refusal")
        case Refused() as refusal if not decided:
            return _untested(Reason.STOPPED_EARLY, f"{last}: {refusal}, before {case.decisive}")
        case Refused() as refusal:
            return Held(evidence=f"refused: {last}: {refusal}")
        case Died(signal=number) if number == signal.SIGSYS and decided:
            return Held(evidence=f"refused: {last}: SIGSYS")
        case Died(signal=number):
            return _untested(Reason.FAULT, f"{last}: the attempt died of signal {number}")
        case TimedOut():
            return _timed_out(case, bracket, last)
        case Acted(inside=inside) if inside and decided:
            return Held(evidence=f"private copy: {inside}")
        case Acted():
            return _untested(Reason.UNCONFIRMED, f"{last}: it worked, and its trace is nowhere")
        case Absent(looked_at=looked_at):
            return Held(evidence=f"not visible: {looked_at}")


def _what_went_through(case: Case, bracket: Bracket) -> Held | Untested:
    """The same for a row about a proxy: a refusal holds what must be refused, an arrival what must arrive."""
    attempt, told = bracket.attempt, _what_it_said(case, bracket)
    match attempt.attempted.said, told, attempt.delivery:
        case ((Refused() as refusal), Held(evidence=evidence), _) if case.allowed:
            return _untested(Reason.OVER_REFUSED, f"{evidence}{_told(refusal)}; the policy grants it")
        case Acted(), _, Arrived(where=where) if case.allowed:
            return Held(evidence=f"allowed: {where}")
        case (Acted(), _, Missed(what=what)) if case.allowed:
            return _untested(Reason.UNCONFIRMED, what)
        case (Refused(), Held(), Missed(what=what)):
            return _untested(Reason.UNCONFIRMED, what)
        case ((Refused() as refusal), Held(evidence=evidence), Arrived()):
            return Held(evidence=f"{evidence}{_told(refusal)}")
        case _, Held(evidence=evidence), _:
            return _untested(Reason.UNCONFIRMED, f"{evidence}, which is no answer of a proxy")
        case _, Untested(), _:
            return told


def _told(refusal: Refused) -> str:
    """The first line of what the proxy said, which may be anything."""
    return f" ({refusal.line})" if refusal.line else ""


def _timed_out(case: Case, bracket: Bracket, last: str) -> Held | Untested:
    """A time-out is a refusal for network rows whose controls were much faster."""
    slowest = max(bracket.before.attempted.seconds, bracket.after.attempted.seconds)
    waited = bracket.attempt.attempted.seconds
    quick = 0 < slowest * PATIENCE < waited
    if case.time_refuses and quick and case.decisive in bracket.attempt.attempted.steps:
        return Held(evidence=f"refused: {last}: no answer in {waited:.1f} s")
    return _untested(Reason.FAULT, f"{last}: timed out after {waited:.1f} s")


def _twin(case: Case, bracket: Bracket) -> Untested | None:
    """What the twin says against a held cell."""
    match case.twin, bracket.attempt.twin:
        case _, TwinAnswer.ANSWERED:
            return None
        case _ if case.subject == "launch":
            return _untested(Reason.NOT_STARTED, "the benign launch did not start either")
        case "same-call", TwinAnswer.REFUSED:
            return _untested(Reason.OVER_REFUSED, "the same call was refused where the policy grants it")
        case _:
            return _untested(Reason.FAULT, "the twin did not answer: the sandbox may have been dead")


def _closing(bracket: Bracket) -> Untested | None:
    """What the closing control says against a held cell."""
    if isinstance(bracket.after.sighting, Seen):
        return None
    return _untested(Reason.CONTROL_FLAPPED, f"unconfined, afterwards: {describe(bracket.after)}")


def describe(observation: Observation) -> str:
    """What an arm came to, in a few words."""
    match observation.sighting:
        case Seen(how=how):
            return how
        case Blind(why=why) | Unplanted(why=why):
            return why
        case Nothing():
            pass
    attempted = observation.attempted
    last = attempted.steps[-1] if attempted.steps else "nothing"
    match attempted.said:
        case Refused() as refusal:
            return f"{last}: {refusal}"
        case Acted(inside=inside):
            return f"{last}: worked, {'found inside' if inside else 'seen nowhere'}"
        case Absent(looked_at=looked_at):
            return f"absent: {looked_at}"
        case Unsupported(why=why) | Silent(why=why) | NotStarted(why=why):
            return why
        case Died(signal=number):
            return f"{last}: signal {number}"
        case TimedOut():
            return f"{last}: timed out"


def _untested(reason: Reason, evidence: str) -> Untested:
    return Untested(reason=reason, evidence=evidence)
