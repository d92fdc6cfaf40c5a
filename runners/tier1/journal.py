"""What a proxy keeps of what it did: every refusal with its address, every dial, and the node's log of both.

In memory and bounded: the newest 100,000 refusals, as many dials, and 200,000 lines of log. What goes
because of that is counted, and the log begins with the count. Equal refusals share their memory; if each is
of another name of the greatest length, all of them take some 100 MiB.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime

from runners.contract import Denial

MOST = 100_000
"""Refusals that are kept, and dials; of lines of the log twice as many."""
_MOST_SHARED = 1000


class Journal:
    """The records since the lists were last set anew."""

    def __init__(self, most: int = MOST) -> None:
        self._denials: deque[Denial] = deque(maxlen=most)
        self._dials: deque[str] = deque(maxlen=most)
        self._lines: deque[tuple[float, Denial | str | Mapping[str, object]]] = deque(maxlen=2 * most)
        self._shared: dict[Denial, Denial] = {}
        self._written = 0

    def deny(self, denial: Denial) -> None:
        """A call was refused, or one that was open has been cut."""
        if len(self._shared) > _MOST_SHARED:
            self._shared.clear()
        denial = self._shared.setdefault(denial, denial)
        self._denials.append(denial)
        self._write(denial)

    def dial(self, where: str) -> None:
        """This address is about to be dialled."""
        self._dials.append(where)
        self._write(where)

    def note(self, event: str, **facts: object) -> None:
        """Something else that an operator wants to know."""
        self._write({"event": event, **facts})

    @property
    def denials(self) -> tuple[Denial, ...]:
        """The refusals, oldest first."""
        return tuple(self._denials)

    @property
    def dials(self) -> tuple[str, ...]:
        """The addresses dialled, oldest first, "address:port" each."""
        return tuple(self._dials)

    @property
    def lost(self) -> int:
        """Lines of the log that are no longer kept."""
        return self._written - len(self._lines)

    def text(self) -> str:
        """The node's log: one JSON object a line, in ASCII."""
        lines = [json.dumps({"event": "lost", "lines": self.lost})] if self.lost else []
        lines += [json.dumps({"time": _stamp(at), **_facts(what)}) for at, what in self._lines]
        return "".join(f"{line}\n" for line in lines)

    def _write(self, what: Denial | str | Mapping[str, object]) -> None:
        self._written += 1
        self._lines.append((time.time(), what))


def _facts(what: Denial | str | Mapping[str, object]) -> Mapping[str, object]:
    match what:
        case Denial():
            return {"event": "refused", **vars(what)}
        case str():
            return {"event": "dial", "to": what}
        case _:
            return what


def _stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
