"""What a wrong proxy is: tier 1's own with one step replaced, and the rows that must tell."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from matrix.model import Escaped, Held, Untested, Verdict
from runners.tier1.head import MOST_BYTES
from runners.tier1.hosts import wire
from runners.tier1.proxy import Proxy

SAMPLE = (
    "basic-connect-manifest",
    "basic-http-manifest",
    "basic-connect-unlisted",
    "private-name-manifest-192-168-16",
    "port-bad-name",
)
"""Rows of every kind, tried with each wrong proxy: those that its fault does not touch are held."""

DOUBLES: dict[str, Double] = {}
"""Every wrong proxy by its name."""


@dataclass(frozen=True, kw_only=True)
class Double:
    """One wrong proxy."""

    name: str
    does: str
    make: type[Proxy] = Proxy
    flags: tuple[str, ...] = ()  # bwrap's, where the sandbox around the proxy is wrong
    escaped: tuple[str, ...] = ()  # rows that it lets escape
    refused: tuple[str, ...] = ()  # rows that are untested with it, as it refuses what the policy grants
    failed: tuple[str, ...] = ()  # rows that are untested with it, as their client never comes to the proxy
    touched: tuple[str, ...] = ()  # rows of the sample that its fault lets escape too

    @property
    def spared(self) -> tuple[str, ...]:
        """Rows that are held all the same: the proxy is wrong, and not dead."""
        caught = {*self.escaped, *self.refused, *self.failed, *self.touched}
        return tuple(row for row in SAMPLE if row not in caught)

    def complaints(self, verdicts: Mapping[str, Verdict]) -> Iterator[str]:
        """What keeps these verdicts from proving that it was caught."""
        for row in self.rows:
            wanted = self._wanted(row)
            match verdicts.get(row):
                case Held():
                    came = "held"
                case Escaped():
                    came = "escaped"
                case Untested(reason=reason):
                    came = reason.value
                case None:
                    came = "not tried"
            if came != wanted:
                yield f"{self.name}, {row}: {came} and not {wanted}: {verdicts.get(row)}"

    def _wanted(self, row: str) -> str:
        if row in self.spared:
            return "held"
        return "over-refused" if row in self.refused else "fault" if row in self.failed else "escaped"

    @property
    def rows(self) -> tuple[str, ...]:
        """All that it is tried with."""
        return tuple(dict.fromkeys((*self.escaped, *self.refused, *self.failed, *self.touched, *self.spared)))


def wrong(
    *escaped: str, refused: tuple[str, ...] = (), touched: tuple[str, ...] = ()
) -> Callable[[type[Proxy]], type[Proxy]]:
    """A wrong proxy, named after its class; its docstring says what it does."""

    def known(make: type[Proxy]) -> type[Proxy]:
        name = re.sub(r"(?<!^)(?=[A-Z])", "-", make.__name__).lower()
        DOUBLES[name] = Double(
            name=name,
            does=make.__doc__ or "",
            make=make,
            escaped=escaped,
            refused=refused,
            touched=touched,
        )
        return make

    return known


def target(raw: bytes) -> str:
    """What the request line of a head asks for, as it came."""
    return wire(raw[:MOST_BYTES]).split(" ")[1]


def spelled(raw: bytes) -> str:
    """The host in it, as it was spelled."""
    authority = re.sub(r"^[a-z]+://|[/?].*", "", target(raw))
    return authority.rpartition(":")[0] if authority.rpartition(":")[2].isdigit() else authority
