"""What a proxied command may reach, and what is said of a refusal: what the contract says of egress."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Egress:
    """What a proxied command may reach: two lists of different reach, and the network they are judged in."""

    manifest: tuple[str, ...] = ()  # the command's own entries: public addresses only
    tenant: tuple[str, ...] = ()  # its tenant's: public addresses and the private networks
    principal: str = "plugin"  # whose entries the first list holds: plugin, agent or harness
    resolver: tuple[str, int] = ("127.0.0.1", 53)  # whom the proxy asks for names: address, port
    neighbour: Egress | None = None  # what another command of the same node may reach, by its own proxy
    detours: Mapping[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    """Where "address:port" (IPv6 in brackets) is listened for, on a host that cannot have the addresses
    itself; an address that is not among them cannot be reached. Empty: addresses are dialled as they are."""


@dataclass(frozen=True, kw_only=True)
class Denial:
    """The record of one refused connection, for the operator: the command never sees the address."""

    kind: str  # unlisted, private, special, mismatch, malformed
    host: str  # as asked for, control characters written out
    port: int  # 0 where none could be read
    address_class: str = ""  # of the address that refused it: private, loopback, link-local …
    address: str = ""  # that address itself
    remedy: tuple[str, ...] = ()  # the lists whose change would allow it: "manifest", "tenant"; none: nothing
    fix: str = ""  # what to do, as one sentence


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """An entry that would allow what was refused."""

    lists: tuple[str, ...]  # where it may go, the first being the better place
    entry: str
