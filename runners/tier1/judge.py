"""Whether a call may go out: first by the host that was asked for, then by every address it resolves to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv6Address

from runners.egress import Denial
from runners.tier1 import words
from runners.tier1.addresses import Address, AddressClass, classify, worst
from runners.tier1.embedded import embedded
from runners.tier1.entries import Which, entry_text, places
from runners.tier1.hosts import Host, Literal
from runners.tier1.lists import Lists, Unlisted
from runners.tier1.visible import visible

MOST_SHOWN = 255
"""Characters that a record keeps of what was malformed."""


@dataclass(frozen=True)
class Listed:
    """A list has the host: which addresses it may reach is another question."""

    which: Which


def judge_name(lists: Lists, host: Host, port: int) -> Listed | Denial:
    """Whether a list has this host. Nothing is resolved before one has."""
    match lists.match(host, port):
        case Unlisted():
            return _unlisted(lists, host, port)
        case which:
            return Listed(which)


def judge_addresses(
    listed: Listed, host: Host, port: int, addresses: Iterable[Address], own: frozenset[Address] = frozenset()
) -> tuple[Address, ...] | Denial:
    """The addresses that may be dialled, in their order and each once, or the refusal.

    One address that is not allowed refuses the call. `own`: where the node and its proxies listen. Of several
    classes the worst is named, whatever the order of the answers. Of no address nothing may be dialled.
    """
    found = {address: _class(address, own) for address in addresses}
    refused = {address: of for address, of in found.items() if not _allowed(listed.which, of)}
    if not refused:
        return tuple(found)
    named = worst(refused.values())
    address = min(
        (each for each, of in refused.items() if of is named), key=lambda each: (each.version, int(each))
    )
    remedy = ("tenant",) if named.kind == "private" else ()
    return Denial(
        kind=named.kind,
        host=str(host),
        port=port,
        address_class=named.value,
        address=str(address),
        remedy=remedy,
        fix=words.fix(named.kind, remedy, entry_text(host, port)),
    )


def malformed(asked: str, why: str, port: int = 0) -> Denial:
    """The refusal of a request that is none; `asked` is what stood for the host."""
    shown = visible(asked[:MOST_SHOWN]) + ("…" if len(asked) > MOST_SHOWN else "")
    fix = f"{why}; {words.fix('malformed', (), '')}"
    return Denial(kind="malformed", host=shown, port=port, fix=fix)


def mismatch(host: Host, port: int) -> Denial:
    """The refusal of a call in which another host is named than the one that was checked."""
    return Denial(kind="mismatch", host=str(host), port=port, fix=words.fix("mismatch", (), ""))


def _allowed(which: Which, of: AddressClass) -> bool:
    return of.kind == "public" or (of.kind == "private" and which == "tenant")


def _class(address: Address, own: frozenset[Address]) -> AddressClass:
    inside = embedded(address) if isinstance(address, IPv6Address) else ()
    return AddressClass.SELF if own & {address, *inside} else classify(address)


def _unlisted(lists: Lists, host: Host, port: int) -> Denial:
    """The class of a literal is known without asking anybody, and says which list may have it at all."""
    literal = host.address if isinstance(host, Literal) else None
    remedy = places(host, port)
    return Denial(
        kind="unlisted",
        host=str(host),
        port=port,
        address_class=classify(literal).value if literal else "",
        address=str(literal or ""),
        remedy=remedy,
        fix=words.fix("unlisted", remedy, entry_text(host, port), lists.principal),
    )
