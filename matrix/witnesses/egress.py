"""What a proxy let out: stages one row's names, servers and lists, and looks at all that came of it.

The attack meets this witness before each of its steps, so that one launch carries many rows: at the
first meeting the little internet is staged and the proxy renewed, at the others the lists change. The
same-call twin has a meeting of its own, with a host that is allowed beside the row's: each refusal is
then one of a proxy that is alive, reached and judging. In the controls the proxy allows everything.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast
from urllib.parse import urlsplit

from matrix import locate, oracles, refusals
from matrix.evidence import Acted, Arrived, Attempted, Delivery, Missed, Nothing, Refused, Seen, Sighting
from matrix.internet.spelled import spelled
from matrix.internet.stage import Stage, StageError, Window
from matrix.meeting import BROKEN, Meeting
from matrix.oracles import Kept, Moment, View
from matrix.scene import Answer, Step, egress, scene
from matrix.witnesses.contract import Ground, Planted, Unplantable, Watching
from runners.contract import Channel, Egress, Proxied, Running, StartError

PATIENCE = 20.0  # seconds for which an attack waits at a meeting
RECORD = 0.5  # seconds that a record may take after the client's answer
TWIN = "twin"
BESIDE = "$BESIDE"  # where the allowed host of every row is, which no row names


class Witness(Watching):
    """`plant` is a scene (matrix.scene), with symbols for addresses."""

    transient = True
    meets = True

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.scene = scene(ground.case.plant)
        self.spelled = self.scene  # until it is planted: with addresses in place of symbols
        self.control = ground.arm in {"before", "after"}
        self.host = f"beside-{ground.twin_token[2:14]}.test"
        self.waiting: list[Meeting] = []
        self.running: Proxied | None = None
        self.window: Window | None = None
        self.lists: dict[str, tuple[str, ...]] = {}  # those that a step has replaced
        self.moments: list[Moment] = []
        self.kept: Kept | None = None
        self.late_since = 0.0

    def plant(self) -> Planted:
        """Nothing is staged before the attack comes; it is told its steps, and where to meet."""
        try:
            stage = Stage.standing()
            self.spelled = scene(spelled(self.ground.case.plant))
        except StageError as error:
            raise Unplantable(str(error)) from error
        except KeyError as error:
            raise Unplantable(f"there is no address {error} in addresses.json") from error
        numbers = [str(number) for number in range(1, len(self.scene.steps))]
        self.waiting = [Meeting(self.ground.corner, moment) for moment in ("", *numbers, TWIN)]
        common: dict[str, Any] = {"patience": PATIENCE}
        shown = ()
        if self.ground.case.attack == "proxy_client":
            shown = (locate.clients(),) if locate.clients().is_dir() else ()
            ca = self.ground.file(self.ground.corner / "ca.pem", stage.ca.decode(), 0o644)
            common |= {"ca": str(ca), "clients": str(locate.clients())}
        told = {**common, "token": self.ground.token, **self.waiting[0].told}
        if self.ground.case.twin == "alive":
            told["last"] = TWIN  # no twin comes to that meeting, at which the proxy's records are kept
        if self.ground.case.direct:
            return Planted(told=told, shown=shown)
        twin = {"request": self._beside(), "step": "listed", "keep": False}
        return Planted(
            told={**told, "steps": [self._told(step) for step in self.spelled.steps]},
            twin={**common, "token": self.ground.twin_token, **self.waiting[-1].told, "steps": [twin]},
            shown=shown,
            egress=self._asked(),
        )

    def _told(self, step: Step) -> dict[str, Any]:
        """A step as the attack is told it, which breaks off where it need not go on; a control never does."""
        word = "forbidden" if step.expect.deny or step.expect.error else "listed"
        return {"request": dict(step.request), "step": "open" if self.control else word, "keep": step.keep}

    def _beside(self) -> Mapping[str, Any]:
        """The twin's request: the allowed host, by the client of the row's last request."""
        requests = [step.request for step in self.spelled.steps if step.request]
        asked = requests[-1] if requests else dict[str, Any]()
        if "client" not in asked:
            return {"connect": f"{self.host}:443"}
        url = urlsplit(str(asked["url"]))
        return {**asked, "url": url._replace(netloc=self.host).geturl()}

    def _asked(self) -> tuple[Egress, ...]:
        """The lists at the launch, and all that the proxy is asked for later."""
        lists, found = dict[str, tuple[str, ...]](), [self._egress({})]
        for step in self.spelled.steps:
            lists |= {} if step.change_refused else step.change
            found.append(self._egress({**lists, **step.change}))
        return (*found, self._egress(lists, twin=True)) if self.scene.bare else tuple(found)

    def _egress(self, lists: Mapping[str, tuple[str, ...]], *, twin: bool = False) -> Egress:
        asked = egress(self.spelled, lists, self.host if twin or not self.scene.bare else "")
        here = self.window.egress() if self.window else Egress(resolver=Stage.standing().resolver)
        return replace(asked, resolver=here.resolver, detours=here.detours)

    def started(self, running: Running) -> None:
        """Know the proxy; a direct row has nothing to do with one."""
        if not self.ground.case.direct:
            self.running = cast("Proxied", running)

    def look(self, attempted: Attempted | None) -> Sighting:
        """While it runs, come to the meetings; afterwards, whether anything crossed."""
        if attempted is None:
            self._meet()
            return Nothing()
        if self.window is None:
            return Nothing()
        view = self._view(attempted)
        found = self._crossing(view, attempted)
        return Seen(how=found) if found else Nothing()

    def _crossing(self, view: View, attempted: Attempted) -> str:
        if self.ground.case.direct:
            token = self.ground.token.encode()
            arrived = (f"the request arrived at {a.address}" for a in view.arrivals if token in a.data)
            asked = (
                f"the name server was asked for {q.name}" for q in view.queries if token.decode() in q.name
            )
            return next(arrived, "") or next(asked, "") or oracles.outside(view)
        if self.control:
            return oracles.crossed(view)
        recorded = refusals.recorded(view) if self._answered(attempted) else ""
        return oracles.outside(view) or refusals.told(view) or recorded

    def _answered(self, attempted: Attempted) -> bool:
        """Whether a proxy that keeps records did at last what the row says: else they are no matter."""
        if Channel.RECORDS not in self.ground.carries:
            return False
        if self.ground.case.allowed:
            return isinstance(attempted.said, Acted)
        return isinstance(attempted.said, Refused) and attempted.steps[-1:] == (self.ground.case.decisive,)

    def _view(self, attempted: Attempted) -> View:
        window = self.window
        answer = window.answer_token if window else ""
        return View(
            scene=self.spelled,
            token=self.ground.token,
            moments=tuple(self.moments),
            arrivals=window.arrivals() if window else (),
            queries=window.queries() if window else (),
            kept=self.kept,
            told=re.sub(rf"arrived \S+ \d+ {answer}", "", _said(attempted)),
        )

    def _meet(self) -> None:
        """Answer the meeting that is due, if one is."""
        for meeting in self.waiting:
            if not meeting.due() or not self._complete(meeting.moment):
                continue
            try:
                said = self._answer(meeting.moment)
            except Exception as error:  # noqa: BLE001 - whatever it is, it costs this row alone
                said = f"{BROKEN}{type(error).__name__}: {error}"
            self.waiting.remove(meeting)
            with suppress(FileExistsError):  # planted by the attack, which then did not wait
                meeting.acknowledge(said)
            return

    def _complete(self, moment: str) -> bool:
        """Whether the step before has left its records, or has had the time for it."""
        if not (moment and self.moments and self.running and Channel.RECORDS in self.ground.carries):
            return True
        before = self.scene.steps[len(self.moments) - 1].expect
        least = len(self.moments[-1].kept.denials) + max(before.records, 1 if before.deny else 0)
        self.late_since = self.late_since or time.monotonic()
        try:
            there = len(self.running.denials()) >= least
        except (StartError, OSError, EOFError):
            return True  # the answer will say so
        if there or time.monotonic() > self.late_since + RECORD:
            self.late_since = 0.0
            return True
        return False

    def _answer(self, moment: str) -> str:
        """Do what this meeting is for; gives what the attack is told."""
        if self.window is None:
            self._begin()
        if moment == TWIN:
            self._end()
        else:
            self._next(self.spelled.steps[int(moment or "0")])
        return self.running.neighbour if self.running else ""

    def _begin(self) -> None:
        """Set the stage; the proxy is as just started."""
        stage = Stage.standing()
        beside = {self.host: (Answer(addresses={"A": (BESIDE,)}),)}
        staged = replace(self.scene, answers={**self.scene.answers, **beside})
        self.window = stage.begin(staged, self.ground.token, self.ground.arm)
        if self.running:
            self.running.renew(self._egress({}))
            _answers(self.running.neighbour)

    def _next(self, step: Step) -> None:
        """Change the lists, if the step says so, and note when."""
        kept, faults = self._now() if self.moments else Kept(), None
        if step.change and self.running:
            faults = tuple(self.running.change(self._egress({**self.lists, **step.change})))
            if faults and not step.change_refused:
                raise StartError(f"the change of lists was refused: {faults[0]}")
            self.lists |= {} if faults else step.change
        self.moments.append(Moment(at=time.monotonic(), kept=kept, faults=faults))

    def _end(self) -> None:
        """Keep what the proxy has of the row; a bare row's twin is allowed only now."""
        self.kept = self._now()
        if self.scene.bare and self.running:
            for fault in self.running.change(self._egress(self.lists, twin=True)):
                raise StartError(f"the twin's host was refused: {fault}")

    def _now(self) -> Kept:
        running = self.running
        if running is None:
            return Kept()
        return Kept(
            denials=tuple(running.denials()),
            proposals=tuple(running.proposals()),
            dials=tuple(running.dials()) if self._heeds_dials else (),
            log=running.log(),
        )

    @property
    def _heeds_dials(self) -> bool:
        """A control shows nothing by a log of dials that the attempt's proxy need not have."""
        return not self.control or Channel.DIAL_LOG in self.ground.case.channels

    def delivery(self, attempted: Attempted) -> Delivery:
        """Whether all that is let through arrived where the row says, and its answer came back."""
        view = self._view(attempted)
        if not self.control and (error := refusals.failed(view)):
            return Missed(what=f"{error} is no refusal")
        found = oracles.delivery(view)
        if not (self.ground.case.allowed and self.scene.steps[-1].request and isinstance(found, Arrived)):
            return found
        if self.window and self.window.answer_token in _said(attempted):
            return found
        return Missed(what=f"{found.where}, and the answer did not come back")

    def twin(self, attempted: Attempted) -> bool:
        """The allowed call beside it reached its server, and the server's answer came back."""
        if self.window is None or not isinstance(attempted.said, Acted):
            return False
        marker = self.ground.twin_token.encode()
        here = any(marker in arrival.data for arrival in self.window.arrivals())
        return here and self.window.answer_token in attempted.said.trace

    def check(self) -> str:
        """The stage's servers and names answer us."""
        return Stage.standing().proof()

    def close(self) -> None:
        """Leave the stage."""
        if self.window:
            self.window.end()


def _answers(neighbour: str) -> None:
    """See that the neighbour's proxy is there: not to reach a dead one is no refusal. Raises StartError."""
    place = urlsplit(neighbour)
    try:
        if neighbour:
            socket.create_connection((place.hostname, place.port), 2).close()
    except OSError as error:
        raise StartError(f"the neighbour's proxy, {neighbour}, is not there: {error}") from error


def _said(attempted: Attempted) -> str:
    """All that the client was told, as far as it says so."""
    match attempted.said:
        case Acted(trace=trace, inside=inside):
            return trace + inside
        case Refused(text=text):
            return text
        case _:
            return ""
