"""Which entries would allow what was refused. Nothing is resolved: a record says all that is needed."""

from __future__ import annotations

from collections.abc import Iterable

from runners.egress import Denial, Proposal
from runners.tier1.entries import Which, entry_text, places
from runners.tier1.hosts import Malformed, read_host

_OPENED_BY: dict[str, tuple[Which, ...]] = {"unlisted": ("manifest", "tenant"), "private": ("tenant",)}
"""By kind of refusal: the lists that may open it. What is not here no list opens."""


def propose(denials: Iterable[Denial]) -> tuple[Proposal, ...]:
    """One proposal for each host and port, in the order in which they were first refused.

    A host that was refused in two ways goes where both are answered. None is proposed that lint would refuse.
    """
    found: dict[str, tuple[str, ...]] = {}
    for denial in denials:
        host = read_host(denial.host)
        if isinstance(host, Malformed) or denial.kind not in _OPENED_BY:
            continue
        lists = [each for each in _OPENED_BY[denial.kind] if each in places(host, denial.port)]
        entry = entry_text(host, denial.port)
        found[entry] = tuple(each for each in found.get(entry, lists) if each in lists)
    return tuple(Proposal(lists=lists, entry=entry) for entry, lists in found.items() if lists)
