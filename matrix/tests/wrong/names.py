"""Proxies that match names and ports wrongly."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from ipaddress import IPv6Address

from matrix.tests.wrong.double import spelled, wrong
from runners.contract import Denial
from runners.tier1.entries import Below, Entry
from runners.tier1.head import Head
from runners.tier1.hosts import Literal
from runners.tier1.judge import Listed, judge_name
from runners.tier1.lists import Lists
from runners.tier1.proxy import Proxy


class Generous(Proxy):
    """Finds more on the lists than is there."""

    def meant(self, entry: Entry, head: Head) -> bool:
        """Whether it takes this entry for the host's."""
        raise NotImplementedError

    def listed(self, head: Head) -> Listed | Denial:
        found = super().listed(head)
        if isinstance(found, Listed):
            return found
        if self._any(self.lists.tenant, head):
            return Listed("tenant")
        return Listed("manifest") if self._any(self.lists.manifest, head) else found

    def _any(self, entries: Iterable[Entry], head: Head) -> bool:
        return any(self.meant(entry, head) for entry in entries)


def _name(entry: Entry) -> str:
    return entry.host.name if isinstance(entry.host, Below) else str(entry.host)


@wrong("name-suffix-overmatch", "name-prefix-attack", "name-wild-suffix")
class EndswithNoDot(Generous):
    """Compares ends of names, without a dot between."""

    def meant(self, entry: Entry, head: Head) -> bool:
        return str(head.host).endswith(_name(entry))


@wrong("name-suffix-attack")
class BeginsLikeIt(Generous):
    """Compares beginnings of names."""

    def meant(self, entry: Entry, head: Head) -> bool:
        return str(head.host).startswith(_name(entry))


@wrong("name-child")
class CoversChildren(Generous):
    """Takes a name for all names below it."""

    def meant(self, entry: Entry, head: Head) -> bool:
        return str(head.host).endswith(f".{_name(entry)}")


@wrong("name-dot-wildcard")
class DotIsAnyLetter(Generous):
    """Reads entries as patterns in which a dot is any letter."""

    def meant(self, entry: Entry, head: Head) -> bool:
        return re.fullmatch(_name(entry), str(head.host)) is not None


@wrong("name-wild-apex")
class WildCoversApex(Generous):
    """Takes *.x for x too."""

    def meant(self, entry: Entry, head: Head) -> bool:
        return isinstance(entry.host, Below) and entry.host.name == str(head.host)


@wrong("port-8443-default-entry", "port-entry-with-port", "port-22-tunnel")
class PortsUnseen(Generous):
    """Looks at no port."""

    def meant(self, entry: Entry, head: Head) -> bool:
        return any(entry.covers(head.host, port) for port in entry.ports)


@wrong("basic-empty-lists", "basic-empty-lists-http")
class EmptyMeansAll(Proxy):
    """Takes empty lists for no policy."""

    def listed(self, head: Head) -> Listed | Denial:
        empty = not (self.lists.manifest or self.lists.tenant)
        return Listed("manifest") if empty else super().listed(head)


@wrong(refused=("name-upper", "name-trailing-dot"))
class RawStringCompare(Proxy):
    """Folds neither case nor the dot at the end."""

    def listed(self, head: Head) -> Listed | Denial:
        lists = self.lists if spelled(head.raw) == str(head.host) else Lists()
        return judge_name(lists, head.host, head.port)


@wrong(refused=("name-wild-deep",))
class WildOneLabel(Proxy):
    """Takes *.x for names of one label more."""

    def listed(self, head: Head) -> Listed | Denial:
        entries = (*self.lists.tenant, *self.lists.manifest)
        deep = any(
            isinstance(entry.host, Below) and str(head.host).count(".") > entry.host.name.count(".") + 1
            for entry in entries
        )
        return judge_name(Lists(), head.host, head.port) if deep else super().listed(head)


@wrong(refused=("spell-v6-long-tenant", "spell-v6-upper-tenant"))
class NumbersByLetter(Proxy):
    """Compares IPv6 addresses letter by letter."""

    def listed(self, head: Head) -> Listed | Denial:
        same = not isinstance(head.host, Literal) or spelled(head.raw) == str(head.host)
        return super().listed(head) if same else judge_name(Lists(), head.host, head.port)


@wrong("embed-mapped-literal")
class UnmapsBeforeItMatches(Proxy):
    """Takes ::ffff:10.0.0.1 for 10.0.0.1 already when it looks into its lists."""

    def listed(self, head: Head) -> Listed | Denial:
        match head.host:
            case Literal(IPv6Address() as address) if inside := address.ipv4_mapped:
                return super().listed(replace(head, host=Literal(inside)))
            case _:
                return super().listed(head)


@wrong(refused=("private-both-lists",))
class ManifestFirst(Proxy):
    """Asks the manifest first, and the tenant's list only for what is not there."""

    def listed(self, head: Head) -> Listed | Denial:
        found = judge_name(Lists(self.lists.manifest), head.host, head.port)
        return found if isinstance(found, Listed) else super().listed(head)


@wrong("spell-public-literal-unlisted", "spell-public-literal-of-name")
class PublicNumbersAreFree(Proxy):
    """Has lists for names alone: addresses that are asked for themselves are judged by their class."""

    def listed(self, head: Head) -> Listed | Denial:
        return Listed("manifest") if isinstance(head.host, Literal) else super().listed(head)
