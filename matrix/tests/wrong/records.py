"""Proxies whose records, or whose words, are wrong."""

from __future__ import annotations

import socket
from dataclasses import replace

from matrix.tests.wrong.double import wrong
from runners.contract import Denial, Egress, Proposal
from runners.tier1.addresses import Address
from runners.tier1.head import Head
from runners.tier1.judge import judge_name
from runners.tier1.lists import Lists
from runners.tier1.proxy import Proxy
from runners.tier1.resolve import Unreached
from runners.tier1.visit import Visit
from runners.tier1.words import Refusal

UNLISTED = ("basic-connect-unlisted",)
PRIVATE = ("private-name-manifest-192-168-16",)
REFUSED = (*UNLISTED, *PRIVATE)


@wrong("refusal-class-not-address", "refusal-class-http", touched=PRIVATE)
class AddressInRefusal(Proxy):
    """Tells the command the address."""

    def refusal(self, denial: Denial) -> Refusal:
        said = super().refusal(denial)
        return replace(said, body=f"{said.body}{denial.address}\n")


@wrong("refusal-special-address", "refusal-class-not-address", touched=PRIVATE)
class AddressInHeader(Proxy):
    """Tells the command the address as a number, in a header."""

    def refusal(self, denial: Denial) -> Refusal:
        said = super().refusal(denial)
        if ":" in denial.address or not denial.address:
            return said
        number = int.from_bytes(socket.inet_aton(denial.address))
        return replace(said, headers=(*said.headers, ("X-Upstream", str(number))))


@wrong("refusal-error-not-leaked")
class AddressInError(Proxy):
    """Tells the command what it could not reach."""

    async def reached(self, head: Head, addresses: tuple[Address, ...]) -> socket.socket | Unreached:
        found = await super().reached(head, addresses)
        return Unreached(502, f"cannot reach {addresses[0]}") if isinstance(found, Unreached) else found


@wrong("private-name-manifest-10-8", "basic-http-unlisted", touched=REFUSED)
class SaysForbiddenAlone(Proxy):
    """Tells the command nothing of why it was refused."""

    def refusal(self, denial: Denial) -> Refusal:
        del denial
        return Refusal(status=403, reason="Forbidden", headers=(), body="")


@wrong("refusal-class-not-address", "private-name-manifest-10-8", touched=PRIVATE)
class NamesBothLists(Proxy):
    """Sends the command to the manifest for a private address, and the operator to the tenant's list."""

    def refusal(self, denial: Denial) -> Refusal:
        return super().refusal(
            replace(denial, remedy=("manifest", "tenant")) if denial.kind == "private" else denial
        )


@wrong("record-has-address", "record-special-has-address", touched=PRIVATE)
class NoAddressInRecord(Proxy):
    """Keeps records without the address."""

    def record(self, denial: Denial) -> None:
        super().record(replace(denial, address=""))


@wrong("record-fix-shown", "record-learn-private", "private-name-manifest-10-8", touched=PRIVATE)
class WrongRemedy(Proxy):
    """Tells the operator to change the manifest for a private address."""

    def record(self, denial: Denial) -> None:
        private = denial.kind == "private"
        super().record(replace(denial, remedy=("manifest", "tenant")) if private else denial)


@wrong("record-fix-agent")
class EverybodyIsAPlugin(Proxy):
    """Sends the operator to the plugin's manifest, whoever was refused."""

    def record(self, denial: Denial) -> None:
        super().record(replace(denial, fix=denial.fix.replace("agent", "plugin")))


@wrong("record-host-control-chars")
class WritesControlCharacters(Proxy):
    """Writes a host down as it came."""

    def record(self, denial: Denial) -> None:
        super().record(replace(denial, host=denial.host.replace("\\u{001B}", "\x1b")))


@wrong("record-learn-malformed", "port-bad-65536", "mm-origin-form-listed", touched=("port-bad-name",))
class MalformedIsNotNoted(Proxy):
    """Keeps no record of what it could not read."""

    def record(self, denial: Denial) -> None:
        if denial.kind != "malformed":
            super().record(denial)


@wrong("record-sni-mismatch", "mm-sni-other", "mm-connect-host-other")
class MismatchIsNotNoted(Proxy):
    """Keeps no record of two names in one call."""

    def record(self, denial: Denial) -> None:
        if denial.kind != "mismatch":
            super().record(denial)


@wrong("live-open-tunnel", "live-keepalive")
class CutIsNotNoted(Proxy):
    """Keeps no record of what a change of lists cut."""

    def change(self, egress: Egress) -> tuple[str, ...]:
        before = self.journal.denials
        faults = super().change(egress)
        self.journal._denials.clear()  # pyright: ignore[reportPrivateUsage]
        self.journal._denials.extend(before)  # pyright: ignore[reportPrivateUsage]
        return faults


@wrong("record-dns-failure-not-denial", "dns-servfail", "record-connect-refused-not-denial")
class ErrorsAreDenials(Proxy):
    """Takes a failure of the network for a refusal."""

    async def opened(self, visit: Visit, head: Head) -> socket.socket | Denial | Unreached:
        found = await super().opened(visit, head)
        return judge_name(Lists(), head.host, head.port) if isinstance(found, Unreached) else found  # pyright: ignore[reportReturnType]


@wrong("record-learn-special", "special-manifest-loop4", touched=PRIVATE)
class ProposesWhateverWasRefused(Proxy):
    """Proposes an entry for all that was refused, on both lists."""

    @property
    def proposals(self) -> tuple[Proposal, ...]:
        hosts = [denial.host for denial in self.journal.denials]
        return tuple(Proposal(lists=("manifest", "tenant"), entry=host) for host in hosts)


@wrong("record-has-address", "private-name-manifest-10-8", touched=PRIVATE)
class PrivateIsUnlisted(Proxy):
    """Refuses a private address as if no list had the host."""

    def record(self, denial: Denial) -> None:
        super().record(replace(denial, kind="unlisted") if denial.kind == "private" else denial)


@wrong("name-wild-ip", "private-literal-unlisted")
class UnlistedHasNoClass(Proxy):
    """Sends the operator to the manifest for a private address that was asked for itself."""

    def record(self, denial: Denial) -> None:
        both = ("manifest", "tenant")
        super().record(replace(denial, remedy=both) if denial.kind == "unlisted" else denial)


@wrong("port-8443-default-entry", "port-22-tunnel")
class ProposesTheHostAlone(Proxy):
    """Proposes entries without the port that was asked for."""

    @property
    def proposals(self) -> tuple[Proposal, ...]:
        each = super().proposals
        return tuple(replace(one, entry=one.entry.partition(":")[0]) for one in each)


@wrong("rob-many-denials")
class RecordsOnce(Proxy):
    """Keeps one record of equal refusals."""

    def record(self, denial: Denial) -> None:
        if denial not in self.journal.denials:
            super().record(denial)


@wrong("direct-tcp-name")
class RecordOnRaw(Proxy):
    """Has a denial of a client that never asked it."""

    def __init__(self, egress: Egress, own: frozenset[Address] = frozenset()) -> None:
        super().__init__(egress, own)
        self.record(Denial(kind="unlisted", host="api.allowed.test", port=443))
