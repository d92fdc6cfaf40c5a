"""The values that runner and proxy process tell each other, as JSON and back. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runners.contract import Denial, Egress, Proposal


def plain(value: Egress | Denial | Proposal) -> dict[str, Any]:
    """The value as what JSON has words for."""
    facts = dict(vars(value))
    if isinstance(value, Egress) and value.neighbour:
        facts["neighbour"] = plain(value.neighbour)
    return facts


def egress(given: Mapping[str, Any]) -> Egress:
    """Both lists, the network they are judged in, and the neighbour's."""
    neighbour = given["neighbour"]
    return Egress(
        manifest=tuple(given["manifest"]),
        tenant=tuple(given["tenant"]),
        principal=given["principal"],
        resolver=_at(given["resolver"]),
        neighbour=egress(neighbour) if neighbour else None,
        detours={where: _at(at) for where, at in given["detours"].items()},
    )


def denial(given: Mapping[str, Any]) -> Denial:
    """The record of a refusal."""
    facts: dict[str, Any] = {**given, "remedy": tuple(given["remedy"])}
    return Denial(**facts)


def proposal(given: Mapping[str, Any]) -> Proposal:
    """A proposed entry."""
    return Proposal(lists=tuple(given["lists"]), entry=given["entry"])


def _at(given: list[Any]) -> tuple[str, int]:
    address, port = given
    return str(address), int(port)
