"""What is said of a refusal: its fix for the record, and what the command that was refused is told.

The command never learns an address that a name resolved to, nor a name on the way there: nothing here
is given one but the operator's line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runners.contract import Denial
from runners.tier1.visible import visible

_SHORT: dict[tuple[str, ...], str] = {
    ("manifest", "tenant"): "add to the manifest's egress or the tenant's list",
    ("tenant",): "add to the tenant's list",
}


@dataclass(frozen=True)
class Refusal:
    """What the client of the proxy gets."""

    status: int
    reason: str  # the phrase behind the status: all that most clients show
    headers: tuple[tuple[str, str], ...]
    body: str


def fix(kind: str, remedy: Sequence[str], entry: str, principal: str = "plugin") -> str:
    """What to do about a refusal, as one sentence; `entry` is what to add, made of what was asked for."""
    match kind, tuple(remedy):
        case _, ("manifest", "tenant"):
            return f"add '{entry}' to the {principal}'s own egress (its author), or to the tenant's list (an admin)"
        case _, ("tenant",):
            return f"add '{entry}' to the tenant's list (an admin): only that list reaches private networks"
        case "mismatch", _:
            return "name one host in CONNECT, Host and TLS server name: no list changes this"
        case "malformed", _:
            return "send a plain host and port: no list changes this"
        case _:
            return "nothing opens this address: no list reaches its class"


def refusal(denial: Denial) -> Refusal:
    """What the command is told of a refusal: the kind, the class, the list to change and how."""
    advice = _SHORT.get(denial.remedy, "no list opens it")
    headers = [("X-Denial-Kind", denial.kind)]
    if denial.address_class:
        headers.append(("X-Denial-Class", denial.address_class))
    headers.append(("X-Denial-Remedy", ", ".join(denial.remedy) or "none"))
    said = (
        f"{denial.kind}, {denial.address_class}"
        if denial.address_class not in {"", denial.kind}
        else denial.kind
    )
    status, word = (400, "Bad Request") if denial.kind == "malformed" else (403, "Forbidden")
    return Refusal(
        status, f"{word}: {said}; {advice}", tuple(headers), f"Refused: {said}. To do: {denial.fix}.\n"
    )


def line(denial: Denial) -> str:
    """The record as an operator reads it, on one line: with the address."""
    where = f"{denial.host}:{denial.port}" if denial.port else denial.host
    found = ", ".join(each for each in (denial.address_class, denial.address) if each)
    return visible(f"refused {where}: {denial.kind}{f' ({found})' if found else ''}; {denial.fix}")
