"""Questions about lists and records that are answered without a launch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runners.egress import Denial, Egress
from runners.tier1 import words
from runners.tier1.entries import Fault
from runners.tier1.learn import propose
from runners.tier1.lists import Lists


def lint(egress: Egress) -> tuple[Fault, ...]:
    """All that is wrong with the lists, at once; none: they are fine. No name is resolved."""
    return Lists.read(egress, strict=False).faults


def decide(question: str, facts: Mapping[str, Any]) -> Mapping[str, Any]:
    """The answer to `lint`, `learn` or `show`. Raises KeyError for an unknown question or a missing fact."""
    match question:
        case "lint":
            return _lint(facts)
        case "learn":
            proposals = propose(_denial(each) for each in facts["denials"])
            return {"proposals": [{"lists": list(each.lists), "entry": each.entry} for each in proposals]}
        case "show":
            return {"text": words.line(_denial(facts["denial"]))}
        case _:
            raise KeyError(question)


def _lint(facts: Mapping[str, Any]) -> Mapping[str, Any]:
    manifest, tenant = (
        tuple(map(str, facts.get(which, ()))) for which in ("manifest", "tenant")
    )  # YAML: 10.1
    faults = lint(Egress(manifest=manifest, tenant=tenant, principal=facts.get("principal", "plugin")))
    listed = [{"list": each.which, "entry": each.entry, "why": each.why, "do": each.do} for each in faults]
    return {"ok": not faults, "faults": listed}


def _denial(facts: Mapping[str, Any]) -> Denial:
    return Denial(
        kind=facts["kind"],
        host=facts["host"],
        port=facts["port"],
        address_class=facts.get("class", facts.get("address_class", "")),
        address=facts.get("address", ""),
        remedy=tuple(facts.get("remedy", ())),
        fix=facts.get("fix", ""),
    )
