"""The two lists as they are in force: read whole, changed whole, and asked for a host."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal as Word
from typing import overload

from runners.egress import Egress
from runners.tier1.entries import Entry, Fault, Which, parse_entry, reach
from runners.tier1.hosts import Host


@dataclass(frozen=True)
class Unlisted:
    """On neither list."""


@dataclass(frozen=True)
class Lists:
    """What one command may reach."""

    manifest: tuple[Entry, ...] = ()
    tenant: tuple[Entry, ...] = ()
    principal: str = "plugin"  # whose entries the first list holds
    faults: tuple[Fault, ...] = ()  # of entries that were left out, or are kept and open nothing

    @overload
    @classmethod
    def read(cls, egress: Egress) -> Lists | tuple[Fault, ...]: ...
    @overload
    @classmethod
    def read(cls, egress: Egress, *, strict: Word[True]) -> Lists | tuple[Fault, ...]: ...
    @overload
    @classmethod
    def read(cls, egress: Egress, *, strict: Word[False]) -> Lists: ...
    @classmethod
    def read(cls, egress: Egress, *, strict: bool = True) -> Lists | tuple[Fault, ...]:
        """Both lists, or all that is wrong with them at once.

        Not strict: as a node takes what is installed already. What can be matched is kept, also an address
        that its list cannot open (it is refused by its class then); `faults` has all that is wrong.
        """
        manifest, wrong = _entries(egress.manifest, "manifest")
        tenant, more = _entries(egress.tenant, "tenant")
        faults = (*wrong, *more)
        return faults if strict and faults else cls(manifest, tenant, egress.principal, faults)

    def change(self, egress: Egress) -> Lists | tuple[Fault, ...]:
        """The lists after an administrator's change, or why it is refused whole: every fault that it brings.

        What was wrong before and stays so is no reason, else one old entry would keep all from being changed.
        """
        after = Lists.read(egress, strict=False)
        brought = tuple(fault for fault in after.faults if fault not in self.faults)
        return brought or after

    def match(self, host: Host, port: int) -> Which | Unlisted:
        """The list that has this host at this port: the tenant's first, as it reaches further."""
        if any(entry.covers(host, port) for entry in self.tenant):
            return "tenant"
        if any(entry.covers(host, port) for entry in self.manifest):
            return "manifest"
        return Unlisted()


def _entries(texts: Iterable[str], which: Which) -> tuple[tuple[Entry, ...], tuple[Fault, ...]]:
    entries: list[Entry] = []
    faults: list[Fault] = []
    for text in texts:
        read = parse_entry(text, which)
        if isinstance(read, Entry):
            entries.append(read)
            read = reach(read, which)
        if read is not None:
            faults.append(read)
    return tuple(entries), tuple(faults)
