"""Proxies that change their lists wrongly, or remember too much."""

from __future__ import annotations

import socket
from dataclasses import replace

from matrix.tests.wrong.double import wrong
from runners.contract import Denial, Egress
from runners.tier1.head import Head
from runners.tier1.lists import Lists
from runners.tier1.proxy import Proxy
from runners.tier1.resolve import Unreached
from runners.tier1.visit import Visit


@wrong("live-tenant-remove", refused=("live-tenant-add",))
class ListAtStart(Proxy):
    """Reads the tenant's list once."""

    def _begin(self, egress: Egress) -> None:
        self.first = egress.tenant
        super()._begin(egress)

    def change(self, egress: Egress) -> tuple[str, ...]:
        return super().change(replace(egress, tenant=self.first))


@wrong("live-manifest-remove", refused=("live-manifest-add",))
class ManifestAtStart(Proxy):
    """Reads the manifest once."""

    def _begin(self, egress: Egress) -> None:
        self.first = egress.manifest
        super()._begin(egress)

    def change(self, egress: Egress) -> tuple[str, ...]:
        return super().change(replace(egress, manifest=self.first))


@wrong("live-open-tunnel", "live-open-tunnel-private", "live-open-tunnel-narrowed")
class KeepsTunnels(Proxy):
    """Leaves open what a change of lists forbids."""

    def change(self, egress: Egress) -> tuple[str, ...]:
        visits, self._visits = self._visits, set[Visit]()
        try:
            return super().change(egress)
        finally:
            self._visits = visits


@wrong(refused=("live-open-tunnel-other", "live-open-tunnel-moved"))
class CutsAll(Proxy):
    """Cuts every tunnel at every change."""

    def change(self, egress: Egress) -> tuple[str, ...]:
        for visit in tuple(self._visits):
            visit.cut()
        return super().change(egress)


@wrong("live-bad-among-good")
class TakesHalf(Proxy):
    """Complains of a wrong entry and takes the others."""

    def change(self, egress: Egress) -> tuple[str, ...]:
        faults = super().change(egress)
        self._take(egress, Lists.read(egress, strict=False))
        return faults


@wrong("live-bad-change", "live-bad-change-alone", "live-bad-among-good")
class TakesAnyChange(Proxy):
    """Drops the wrong entries of a change without a word."""

    def change(self, egress: Egress) -> tuple[str, ...]:
        if faults := super().change(egress):
            self._take(egress, Lists.read(egress, strict=False))
        return faults[:0]


@wrong(refused=("live-bad-keeps-tunnel",))
class ForgetsAllOfABadChange(Proxy):
    """Has no lists at all after a wrong change, and cuts what was open."""

    def change(self, egress: Egress) -> tuple[str, ...]:
        if faults := super().change(egress):
            super().change(Egress(resolver=egress.resolver))
        return faults


@wrong(refused=("live-reconnect-after-refusal", "dns-rebind-back"))
class NegativeCache(Proxy):
    """Remembers refusals."""

    def _begin(self, egress: Egress) -> None:
        self.refused: dict[tuple[str, int], Denial] = {}
        super()._begin(egress)

    async def opened(self, visit: Visit, head: Head) -> socket.socket | Denial | Unreached:
        at = (str(head.host), head.port)
        if at in self.refused:
            return self.refused[at]
        found = await super().opened(visit, head)
        if isinstance(found, Denial):
            self.refused[at] = found
        return found


@wrong("basic-other-plugin-entry", "basic-other-tenant-entry")
class OneListForTheNode(Proxy):
    """Lets every command reach what any of the node may."""

    def _begin(self, egress: Egress) -> None:
        beside = egress.neighbour or Egress()
        manifest, tenant = (*egress.manifest, *beside.manifest), (*egress.tenant, *beside.tenant)
        super()._begin(replace(egress, manifest=manifest, tenant=tenant))
