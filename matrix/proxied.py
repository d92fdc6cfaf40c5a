"""From a row as a person writes it to the values of a Case: rows about lists leave much unsaid.

Pure. The row has the shape that the schema asks for; whether it means anything is for matrix.coverage to say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from matrix import decide
from runners.contract import Channel

SCENE = (
    "policy",
    "answers",
    "serves",
    "closed",
    "request",
    "steps",
    "expect",
    "never_dial",
    "never_send",
    "never_ask",
    "never_tell",
    "record_has",
)
"""The keys of a row that are its staging: they go to the witness as they are."""

SECONDS = 30.0  # of one attempt, which may have to wait for a slow proxy at each of its moments


def plain(row: Mapping[str, Any], unseen: Collection[str]) -> dict[str, Any]:
    """The row with everything said, by the names of Case's fields; an ordinary row as it is.

    `unseen` are the symbols whose dials no listener can see.
    """
    if "decide" in row:
        return _decided(row)
    if "request" in row or "steps" in row:
        return _proxied(row, unseen)
    staged = {key: row[key] for key in SCENE if key in row}
    return {**_unstaged(row), "plant": {**row.get("plant", {}), **staged}} if staged else dict(row)


def moments(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The steps of a proxied row, which is one itself where it names none."""
    return [*row["steps"]] if row.get("steps") else [row]


def _proxied(row: Mapping[str, Any], unseen: Collection[str]) -> dict[str, Any]:
    last = moments(row)[-1].get("expect", {})
    allowed = "allow" in last or not {"deny", "error"} & last.keys()  # a refused change is no refused call
    attack = _attack(row)
    told = {
        "attack": attack,
        "witness": "egress",
        "decisive": "listed" if allowed else "forbidden",
        "allowed": allowed,
        "world": True,
        # a second program that is let through would tell nothing that the first one does not
        "twin": "alive" if allowed and attack == "proxy_client" else "same-call",
        "seconds": SECONDS,
    }
    channels = {*row.get("channels", ()), Channel.PROXY.value}
    if _only_written_down(row, unseen):
        channels.add(Channel.DIAL_LOG.value)
    staged = {key: row[key] for key in SCENE if key in row}
    return {**told, **_unstaged(row), "channels": sorted(channels), "plant": {"policy": {}, **staged}}


def _attack(row: Mapping[str, Any]) -> str:
    """Who asks: a client of our own, one with a burden for the proxy, or a real program."""
    said = {key for step in moments(row) for key in step.get("request", {})}
    return "proxy_client" if "client" in said else "proxy_stress" if "stress" in said else "proxy_request"


def _only_written_down(row: Mapping[str, Any], unseen: Collection[str]) -> bool:
    """Whether the dials that the row forbids can be seen in the proxy's own log alone."""
    if {"never_send", "never_ask"} & row.keys():
        return False
    dials = [symbol for step in moments(row) for symbol in step.get("never_dial", ())]
    return bool(dials) and all(symbol.lstrip("$") in unseen for symbol in dials)


def _decided(row: Mapping[str, Any]) -> dict[str, Any]:
    asked = row["decide"]
    return {
        "attack": "",
        "witness": "",
        "decisive": "",
        "subject": "decision",
        "channels": [Channel.DECISIONS.value],
        "allowed": decide.fits(asked["expect"], decide.allow_all(asked["question"], asked["facts"])),
        **{key: value for key, value in row.items() if key != "decide"},
        "plant": asked,
    }


def _unstaged(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in SCENE}


def words(value: Any) -> Iterator[str]:
    """Every text in a row's values, keys too."""
    match value:
        case str():
            yield value
        case dict():
            for key, inner in value.items():  # pyright: ignore[reportUnknownVariableType] - JSON
                yield from words(key)
                yield from words(inner)
        case list() | tuple():
            for inner in value:  # pyright: ignore[reportUnknownVariableType] - JSON
                yield from words(inner)
        case _:
            return
