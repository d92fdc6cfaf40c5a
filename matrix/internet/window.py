"""One row's time on the stage, and what is seen of it."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace

from matrix.internet.addresses import addresses, arrives, spell
from matrix.internet.log import Arrival, Connection, Log, Query
from matrix.scene import Scene
from runners.contract import Egress

Detours = Mapping[str, tuple[str, int]]

_CANARY = re.compile(rb"em[0-9a-f]{32}")  # of any row


class Window:
    """From `Stage.begin` to the next, or to `end`. What is asked of it may be asked at any time."""

    def __init__(
        self, scene: Scene, token: str, log: Log, detours: Detours, resolver: tuple[str, int]
    ) -> None:
        self.scene, self.token = scene, token
        self.answer_token = "ea" + secrets.token_hex(16)
        """What the servers answer with in this window; nobody else knows it."""
        self._log, self._resolver = log, resolver
        self._detours, self._arm = detours, log.arm
        self._forbidden = {arrives(each) for symbol in scene.never_dial for each in addresses(symbol)}
        self._unasked = {name.strip(".").lower() for name in scene.never_ask}
        self._first = log.length()
        self._last: tuple[int, int] | None = None

    def arrivals(self) -> Sequence[Arrival]:
        """What has arrived in this window, and what came late for it: see `Arrival.late`."""
        found = self._log.connections(self._first[0])
        count = self._last[0] - self._first[0] if self._last else len(found)
        late = (each for each in found[count:] if self._is_mine(each))
        return (*(each.arrival() for each in found[:count]), *(each.arrival(late=True) for each in late))

    def queries(self) -> Sequence[Query]:
        """What was asked of the DNS server in this window, and later what only this one forbids."""
        found = self._log.queries(self._first[1])
        count = self._last[1] - self._first[1] if self._last else len(found)
        late = (query for query, arm in found[count:] if arm == self._arm and query.name in self._unasked)
        return (*(query for query, _ in found[:count]), *(replace(query, late=True) for query in late))

    def end(self) -> None:
        """From now on only what is late is taken."""
        if self._last is None:
            self._last = self._log.length()

    def egress(self, changes: Mapping[str, Sequence[str]] | None = None, also: Sequence[str] = ()) -> Egress:
        """The row's lists for a proxy here; `changes` instead of its own, `also` on the manifest."""
        scene = self.scene
        lists = {"manifest": scene.manifest, "tenant": scene.tenant, **(changes or {})}
        egress = replace(self._lists(lists, also), principal=scene.principal)
        return replace(egress, neighbour=self._lists(scene.neighbour)) if scene.neighbour else egress

    def _lists(self, lists: Mapping[str, Sequence[str]], also: Sequence[str] = ()) -> Egress:
        return Egress(
            manifest=tuple(spell(each) for each in (*lists.get("manifest", ()), *also)),
            tenant=tuple(spell(each) for each in lists.get("tenant", ())),
            resolver=self._resolver,
            detours=self._detours,
        )

    def _is_mine(self, connection: Connection) -> bool:
        """Whether a connection of a later time belongs here: by its canary, or without one by its address."""
        said = connection.arrival().data
        if canaries := set(_CANARY.findall(said)):
            return self.token.encode() in canaries
        return connection.strange_to == self._arm and connection.address in self._forbidden
