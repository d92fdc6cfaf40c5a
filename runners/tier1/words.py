"""What is said of a refusal: its fix for the record, and what the command that was refused is told.

The command never learns an address that a name resolved to, nor a name on the way there: nothing here
is given one but the operator's line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runners.egress import Denial
from runners.tier1.visible import visible

_SHORT: dict[tuple[str, ...], str] = {
    ("manifest", "tenant"): "add to the manifest's egress or the tenant's list",
    ("tenant",): "add to the tenant's list",
    (): "no list opens it",
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
            here, there = f"the {principal} manifest's egress (its author)", "the tenant's list (an admin)"
            return f"add '{entry}' to {here}, or to {there}"
        case _, ("tenant",):
            return f"add '{entry}' to the tenant's list (an admin): only that list reaches private networks"
        case "mismatch", _:
            return "name one host in CONNECT, Host and TLS server name: no list changes this"
        case "malformed", _:
            return "send a plain host and port: no list changes this"
        case _:
            return "no list opens this class of address; reach the host by a public or a private one"


def refusal(denial: Denial) -> Refusal:
    """What the command is told of a refusal: the kind, the class, the list to change and how."""
    said = ", ".join(dict.fromkeys(each for each in (denial.kind, denial.address_class) if each))
    headers = {
        "X-Denial-Kind": denial.kind,
        "X-Denial-Class": denial.address_class,
        "X-Denial-Remedy": ", ".join(denial.remedy) or "none",
    }
    status, phrase = (400, "Bad Request") if denial.kind == "malformed" else (403, "Forbidden")
    return Refusal(
        status=status,
        reason=f"{phrase}: {said}; {_SHORT[denial.remedy]}",
        headers=tuple((name, value) for name, value in headers.items() if value),
        body=f"Refused: {said}. To do: {denial.fix}.\n",
    )


def line(denial: Denial) -> str:
    """The record as an operator reads it, on one line: with the address."""
    where = f"{denial.host}:{denial.port}" if denial.port else denial.host
    found = ", ".join(each for each in (denial.address_class, denial.address) if each)
    found = f" ({found})" if found else ""
    to_do = f"; {denial.fix}" if denial.fix else ""
    return visible(f"refused {where}: {denial.kind}{found}{to_do}")
