"""What must not have come of a proxied row, looked for in everything that it left outside.

Pure. Symbols are spelled out already. Each oracle gives its crossings in words. That nothing crossed
proves nothing yet: that is for the attempt's own word, the twin, the controls and the verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, ip_address
from math import inf
from typing import Protocol

from matrix.evidence import Arrived, Delivery, Missed
from matrix.scene import Scene, Step
from runners.contract import Denial, Proposal


class Arrival(Protocol):
    """One connection that was accepted outside."""

    @property
    def address(self) -> str: ...  # noqa: D102
    @property
    def port(self) -> int: ...  # noqa: D102
    @property
    def at(self) -> float: ...  # noqa: D102 - monotonic seconds
    @property
    def data(self) -> bytes: ...  # noqa: D102
    @property
    def sni(self) -> str: ...  # noqa: D102


class Query(Protocol):
    """One question that the DNS server was asked."""

    @property
    def name(self) -> str: ...  # noqa: D102


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What the proxy itself has of a row: its records, proposals, dials and log."""

    denials: tuple[Denial, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    dials: tuple[str, ...] = ()  # "address:port" each
    log: str = ""


@dataclass(frozen=True, kw_only=True)
class Moment:
    """What was so when one step began."""

    at: float  # monotonic seconds
    kept: Kept = field(default_factory=Kept)  # by the proxy until then
    faults: tuple[str, ...] | None = (
        None  # why the step's change of lists was refused; None: nothing was to change
    )


@dataclass(frozen=True, kw_only=True)
class View:
    """All that is known of one row in one arm."""

    scene: Scene
    token: str
    moments: tuple[Moment, ...] = ()  # of the steps that began
    arrivals: Sequence[Arrival] = ()
    queries: Sequence[Query] = ()
    kept: Kept | None = None  # when the last step was over; None: nobody saw its end
    told: str = ""  # what the client was told, without what an upstream of ours answered

    def marker(self, number: int) -> bytes:
        """What a step's request carries."""
        return f"{self.token}.{number}".encode()

    def reached(self) -> Iterator[tuple[int, Step, Moment]]:
        """The steps that began."""
        for number, (step, moment) in enumerate(zip(self.scene.steps, self.moments, strict=False)):
            yield number, step, moment

    def during(self, number: int) -> Kept | None:
        """What the proxy has kept of one step; None where nobody saw its end."""
        end = self.moments[number + 1].kept if number + 1 < len(self.moments) else self.kept
        if end is None:
            return None
        begin = self.moments[number].kept
        return Kept(
            denials=end.denials[len(begin.denials) :],
            proposals=end.proposals,
            dials=end.dials[len(begin.dials) :],
            log=end.log,
        )


def outside(view: View) -> str:
    """What got out: a forbidden dial, text, question or request, the canary, or a change that was taken."""
    found = (*_dialled(view), *_sent(view), *_asked(view), *_let_through(view), *_changed(view))
    return next(iter(found), "")


def crossed(view: View) -> str:
    """What a control shows: each step's own crossing was seen, of the last one in words.

    Empty where one step that forbids something let nothing out: then nobody knows that it could be seen.
    """
    found, wide = "", next(iter((*_sent(view), *_asked(view))), "")
    for number, step in enumerate(view.scene.steps):
        if number >= len(view.moments):
            return ""
        if not (step.expect.deny or step.expect.error or step.change_refused or step.never_dial):
            continue
        end = view.moments[number + 1].at if number + 1 < len(view.moments) else inf
        own = (*_dialled_at(view, number, end), *_let_through_at(view, number), *_changed_at(view, number))
        if not (found := next(iter(own), "") or wide):
            return ""
    if view.scene.steps[-1].expect.allow:
        return (arrived := delivered(view)) and (found or f"the request arrived at {arrived}")
    return found


def delivered(view: View) -> str:
    """Where the last step's request arrived, for a row that must be allowed; empty where it did not."""
    number = len(view.scene.steps) - 1
    for arrival in view.arrivals:
        if view.marker(number) in arrival.data:
            return f"{arrival.address} port {arrival.port}"
    return ""


def delivery(view: View) -> Delivery:
    """Whether all that the row lets through has arrived where it says, and what it refuses of changes was."""
    where = ""
    for number, step in enumerate(view.scene.steps):
        moment = view.moments[number] if number < len(view.moments) else None
        if step.change_refused:
            if not (moment and moment.faults):
                return Missed(what="the change of lists was not refused")
            where = f"the change was refused: {moment.faults[0]}"
        if allow := step.expect.allow:
            ours = (each for each in view.arrivals if view.marker(number) in each.data)
            there = next((each for each in ours if same(each.address, allow)), None)
            if there is None:
                return Missed(what=f"the request did not arrive at {allow}")
            where = f"arrived at {there.address} port {there.port}"
    return Arrived(where=where)


def same(one: str, other: str) -> bool:
    """Whether two spellings are one place, as far as a listener can tell.

    The kernel takes an IPv4-mapped address for the one inside, and the unspecified for the loopback's.
    """
    return _canonical(one) == _canonical(other)


def _canonical(text: str) -> str:
    try:
        found = ip_address(text)
    except ValueError:
        return text
    mapped = None if isinstance(found, IPv4Address) else found.ipv4_mapped
    found = mapped or found
    if found.is_unspecified:
        return "127.0.0.1" if isinstance(found, IPv4Address) else "::1"
    return str(found)


def _dialled(view: View) -> Iterator[str]:
    for number, _, _ in view.reached():
        opened = _opened(view, number)
        end = view.moments[opened].at if opened else inf
        yield from _dialled_at(view, number, end, opened)


def _opened(view: View, number: int) -> int:
    """The later step from which on a change lets the same request through; 0 where there is none.

    What it may then reach is no longer forbidden: a proxy that keeps an answer for a second dials an
    address of before.
    """
    asked = view.scene.steps[number].request
    later = (each for each, step, _ in view.reached() if each > number and step.change and step.expect.allow)
    return next((each for each in later if asked and view.scene.steps[each].request == asked), 0)


def _dialled_at(view: View, number: int, end: float = inf, until: int = 0) -> Iterator[str]:
    """What was dialled, from one step on until `end` (the log: until step `until`), that it forbids."""
    moment = view.moments[number]
    never = {_canonical(address): address for address in view.scene.steps[number].never_dial}
    for arrival in view.arrivals:
        if moment.at <= arrival.at < end and _canonical(arrival.address) in never:
            yield f"{arrival.address} port {arrival.port} was dialled"
    kept = view.kept or view.moments[-1].kept if end == inf else view.during(number)
    kept = view.moments[until].kept if until else kept
    before = len(moment.kept.dials) if end == inf or until else 0
    for dial in kept.dials[before:] if kept else ():
        if _canonical(dial.rpartition(":")[0].strip("[]")) in never:
            yield f"{dial} was dialled, as the proxy's log says"


def _sent(view: View) -> Iterator[str]:
    for text in view.scene.never_send:
        wanted = _bytes(text)
        for arrival in view.arrivals:
            if any(each in arrival.data for each in wanted) or text.lower() == arrival.sni.lower():
                yield f"{arrival.address} port {arrival.port} received {text!r}"


def _bytes(text: str) -> set[bytes]:
    return {text.encode("latin-1", "replace"), text.encode()}


def _asked(view: View) -> Iterator[str]:
    never = {name.lower().rstrip(".") for name in view.scene.never_ask}
    for query in view.queries:
        if query.name.lower().rstrip(".") in never or view.token in query.name:
            yield f"the DNS server was asked for {query.name!r}"


def _let_through(view: View) -> Iterator[str]:
    for number, _, _ in view.reached():
        yield from _let_through_at(view, number)


def _let_through_at(view: View, number: int) -> Iterator[str]:
    """A request that arrives though it must be refused, or that arrives elsewhere than it may."""
    step = view.scene.steps[number]
    for arrival in view.arrivals:
        if not step.request or view.marker(number) not in arrival.data:
            continue
        where, allow = f"{arrival.address} port {arrival.port}", step.expect.allow
        if not allow:
            yield f"the request arrived at {where}"
        elif not same(arrival.address, allow):
            yield f"the request arrived at {where}, and not at {allow}"


def _changed(view: View) -> Iterator[str]:
    for number, _, _ in view.reached():
        yield from _changed_at(view, number)


def _changed_at(view: View, number: int) -> Iterator[str]:
    step = view.scene.steps[number]
    if step.change_refused and view.moments[number].faults == ():
        yield f"the lists took the change to {dict(step.change)}"
