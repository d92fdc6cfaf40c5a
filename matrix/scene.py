"""What a proxied row stages: two lists, names, who listens, what is asked, and what must come of it.

Pure: the values of one row of the table. Addresses are symbols of testdata/addresses.json, "$PUB4_A".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runners.contract import Egress


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the DNS server says to one query for one name and type; answers step, the last repeats."""

    addresses: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])  # A, AAAA
    cname: str = ""
    rcode: str = "NOERROR"
    ttl: int = 0
    silent: bool = False  # never answers
    forged: str = ""  # first a datagram with another id, which says this address


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What must come of one request."""

    allow: str = ""  # it arrives at this address
    deny: tuple[str, ...] = ()  # it is refused, as one of these kinds
    error: bool = False  # it is no denial, but nothing is reached: 502 or 504, and no record
    ignored: bool = False  # the command goes around the proxy: refused by the sandbox, and no record
    address_class: str = ""  # what the refusal and the record name
    remedy: tuple[str, ...] | None = None  # the lists to change; None: the kind says it
    learn: str | None = None  # the entry that is proposed; "": nothing is; None: not looked at
    records: int = -1  # how many records at least; -1: as the above say


@dataclass(frozen=True, kw_only=True)
class Step:
    """One moment of a row: perhaps the lists change, then perhaps something is asked."""

    expect: Expected
    change: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict[str, tuple[str, ...]]
    )  # list → entries
    change_refused: bool = False  # the change itself is refused, whole
    request: Mapping[str, Any] = field(
        default_factory=dict[str, Any]
    )  # told to the attack; empty: nothing asked
    keep: bool = False  # on the connection of the moment before
    never_dial: tuple[str, ...] = ()  # symbols that must not be dialled from this moment on


@dataclass(frozen=True, kw_only=True)
class Scene:
    """One row's staging."""

    steps: tuple[Step, ...]
    manifest: tuple[str, ...] = ()
    tenant: tuple[str, ...] = ()
    principal: str = "plugin"
    neighbour: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])  # its lists
    bare: bool = False  # the lists are exactly these: no entry for the allowed call beside it
    answers: Mapping[str, tuple[Answer, ...]] = field(default_factory=dict[str, tuple[Answer, ...]])
    serves: Mapping[str, str] = field(default_factory=dict[str, str])  # path → "302 http://…"
    closed: tuple[str, ...] = ()  # symbols of which nobody listens at
    never_send: tuple[str, ...] = ()  # text that must not arrive anywhere outside
    never_ask: tuple[str, ...] = ()  # names that must not be sent to the DNS server
    never_tell: tuple[str, ...] = ()  # text that the command must not be told, beside the addresses
    record_has: tuple[str, ...] = ()  # text that the record or the node's log holds

    @property
    def never_dial(self) -> tuple[str, ...]:
        """What must not be dialled at one moment or another."""
        return tuple(dict.fromkeys(symbol for step in self.steps for symbol in step.never_dial))


def egress(scene: Scene, lists: Mapping[str, tuple[str, ...]], beside: str) -> Egress:
    """What a proxy is asked to enforce: `lists` in place of the row's, and a host allowed beside them.

    The host goes where the row has entries, the manifest first: rows of one list stay rows of one list.
    """
    both = {"manifest": scene.manifest, "tenant": scene.tenant, **lists}
    if beside:
        where = "tenant" if scene.tenant and not scene.manifest else "manifest"
        both[where] = (*both[where], beside)
    other = scene.neighbour
    return Egress(
        manifest=both["manifest"],
        tenant=both["tenant"],
        principal=scene.principal,
        neighbour=Egress(manifest=other.get("manifest", ()), tenant=other.get("tenant", ()))
        if other
        else None,
    )


def scene(row: Mapping[str, Any]) -> Scene:
    """The scene of a row of the table; the row has been checked against the schema."""
    policy = row.get("policy", {})
    steps = row.get("steps") or [row]
    return Scene(
        steps=tuple(_step(step) for step in steps),
        manifest=tuple(policy.get("manifest", ())),
        tenant=tuple(policy.get("tenant", ())),
        principal=policy.get("principal", "plugin"),
        neighbour=_lists(policy.get("neighbour", {})),
        bare=policy.get("bare", False),
        answers={
            name: tuple(_answer(each) for each in given) for name, given in row.get("answers", {}).items()
        },
        serves=row.get("serves", {}),
        closed=tuple(row.get("closed", ())),
        never_send=tuple(row.get("never_send", ())),
        never_ask=tuple(row.get("never_ask", ())),
        never_tell=tuple(row.get("never_tell", ())),
        record_has=tuple(row.get("record_has", ())),
    )


def _step(given: Mapping[str, Any]) -> Step:
    change = given.get("change", {})
    return Step(
        expect=_expected(given.get("expect", {})),
        change=_lists(change),
        change_refused=given.get("expect", {}).get("change") == "refused",
        request=given.get("request", {}),
        keep=given.get("keep", False),
        never_dial=tuple(given.get("never_dial", ())),
    )


def _expected(given: Mapping[str, Any]) -> Expected:
    deny = given.get("deny", ())
    remedy: Sequence[str] | None = given.get("remedy")
    return Expected(
        allow=given.get("allow", ""),
        deny=(deny,) if isinstance(deny, str) else tuple(deny),
        error=given.get("error", False),
        ignored=given.get("ignored", False),
        address_class=given.get("class", ""),
        remedy=None if remedy is None else tuple(remedy),
        learn=given.get("learn"),
        records=given.get("records", -1),
    )


def _answer(given: Mapping[str, Any]) -> Answer:
    return Answer(
        addresses={kind: tuple(given[kind]) for kind in ("A", "AAAA") if kind in given},
        cname=given.get("CNAME", ""),
        rcode=given.get("rcode", "NOERROR"),
        ttl=given.get("ttl", 0),
        silent=given.get("silent", False),
        forged=given.get("forged", ""),
    )


def _lists(given: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(entries) for name, entries in given.items()}
