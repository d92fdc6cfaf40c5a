"""Proxies that judge addresses wrongly."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_network

from matrix.tests.wrong.double import spelled, wrong
from runners.contract import Denial
from runners.tier1.addresses import Address, AddressClass, classify
from runners.tier1.embedded import embedded
from runners.tier1.entries import Network
from runners.tier1.head import Head
from runners.tier1.judge import Listed
from runners.tier1.proxy import Proxy

_CLASS_B = ip_network("172.16.0.0/12"), ip_network("172.16.0.0/16")
_FORGOTTEN = ip_network("100.64.0.0/10"), ip_network("fc00::/7")
_WIDE = tuple(ip_network(text) for text in ("172.0.0.0/8", "100.0.0.0/8", "192.0.0.0/8"))

Found = tuple[Address, ...] | Denial


class Lenient(Proxy):
    """Does not look at some addresses, and dials them beside those that it allows."""

    def passes(self, address: Address) -> bool:
        """Whether it does not look at this one."""
        raise NotImplementedError

    def permitted(self, listed: Listed, head: Head, addresses: tuple[Address, ...]) -> Found:
        looked_at = tuple(each for each in addresses if not self.passes(each))
        found = super().permitted(listed, head, looked_at)
        return found if isinstance(found, Denial) else addresses


@wrong(
    *("private-name-manifest-10-8", "dns-cname-private", "name-wild-private"),
    touched=("private-name-manifest-192-168-16",),
)
class NoAddressCheck(Lenient):
    """Matches names only."""

    def passes(self, address: Address) -> bool:
        return True


@wrong(
    *("private-name-manifest-100-64-10", "private-name-manifest-100-64-10-top"),
    *("embed-mappedcg", "embed-nat64-10"),
)
class StdlibIsPrivate(Lenient):
    """Asks the standard library whether an address is private."""

    def passes(self, address: Address) -> bool:
        return not address.is_private


@wrong("embed-compat10", "embed-nat64-10", "special-manifest-mc4", "special-manifest-meta-az")
class StdlibNotIsGlobal(Lenient):
    """Asks the standard library whether an address is global."""

    def passes(self, address: Address) -> bool:
        return address.is_global


@wrong("private-name-manifest-100-64-10", "private-name-manifest-fd00-8", "private-name-manifest-fc00-8")
class Rfc1918Only(Lenient):
    """Forgets 100.64.0.0/10 and fc00::/7."""

    def passes(self, address: Address) -> bool:
        return any(address in each for each in _FORGOTTEN)


@wrong("private-name-manifest-172-16-12-top")
class Range17231Only(Lenient):
    """Has 172.16.0.0/16 in the place of /12."""

    def passes(self, address: Address) -> bool:
        return address in _CLASS_B[0] and address not in _CLASS_B[1]


@wrong("embed-mapped10")
class NoMapped(Lenient):
    """Does not look into ::ffff:0:0/96."""

    def passes(self, address: Address) -> bool:
        return isinstance(address, IPv6Address) and address.ipv4_mapped is not None


@wrong(
    *("special-manifest-loop4", "special-manifest-unspec4", "special-manifest-meta4", "special-manifest-ll6"),
    *("special-tenant-loop4", "special-localhost-name", "self-name-to-proxy", "self-tenant-name-to-proxy"),
)
class LoopbackAllowed(Lenient):
    """Refuses the five private networks only."""

    def passes(self, address: Address) -> bool:
        return classify(address).kind == "special"


@wrong(
    *("embed-compat10", "embed-transl10", "embed-nat64-10", "embed-nat64-local-10"),
    *("embed-6to4-10", "embed-teredo-10", "embed-isatap-10"),
)
class MappedAlone(Lenient):
    """Looks into ::ffff:0:0/96, and into no other address that carries one."""

    def passes(self, address: Address) -> bool:
        return isinstance(address, IPv6Address) and bool(embedded(address)) and not address.ipv4_mapped


@wrong("special-manifest-loop4-other", "special-manifest-thisnet", "special-manifest-ll4")
class SingleAddresses(Lenient):
    """Knows 127.0.0.1, 0.0.0.0 and 169.254.169.254, and not the networks around them."""

    def passes(self, address: Address) -> bool:
        around = classify(address) in {
            AddressClass.LOOPBACK,
            AddressClass.THIS_NETWORK,
            AddressClass.LINK_LOCAL,
        }
        return around and str(address) != "127.0.0.1"


@wrong("private-harness-entry")
class TrustsHarness(Lenient):
    """Opens private networks to the harness' own entries."""

    def passes(self, address: Address) -> bool:
        return self.lists.principal == "harness"


@wrong("private-name-manifest-fd00-8", "embed-mapped10", "dns-mixed-a-aaaa", "special-manifest-loop6")
class AllowsWhatItCannotJudge(Proxy):
    """Knows IPv4 alone; what its judge breaks over is let through."""

    def permitted(self, listed: Listed, head: Head, addresses: tuple[Address, ...]) -> Found:
        try:
            four = tuple(IPv4Address(int(each)) for each in addresses)
            return super().permitted(listed, head, four)
        except ValueError:
            return addresses


@wrong("dns-mixed-public-private", "dns-eyeballs-fallback")
class FirstAnswerOnly(Proxy):
    """Looks at the first answer and dials all."""

    def permitted(self, listed: Listed, head: Head, addresses: tuple[Address, ...]) -> Found:
        found = super().permitted(listed, head, addresses[:1])
        return found if isinstance(found, Denial) else addresses


@wrong("dns-mixed-public-private", "dns-mixed-a-aaaa")
class DialsWhatIsLeft(Proxy):
    """Leaves out the answers that are not allowed, and dials the others."""

    def permitted(self, listed: Listed, head: Head, addresses: tuple[Address, ...]) -> Found:
        each = [super(DialsWhatIsLeft, self).permitted(listed, head, (one,)) for one in addresses]
        left = tuple(one for found in each if not isinstance(found, Denial) for one in found)
        return left or each[0]


@wrong("dns-many-answers")
class FirstEightOnly(Proxy):
    """Looks at as many answers as it would dial, and no further."""

    def permitted(self, listed: Listed, head: Head, addresses: tuple[Address, ...]) -> Found:
        return super().permitted(listed, head, addresses[:8])


@wrong(refused=("private-edge-172-hi", "private-edge-cg-hi", "private-edge-192-hi"))
class RangesTooWide(Proxy):
    """Refuses all of 172.0.0.0/8, 100.0.0.0/8 and 192.0.0.0/8."""

    def permitted(self, listed: Listed, head: Head, addresses: tuple[Address, ...]) -> Found:
        if any(address in wide for address in addresses for wide in _WIDE):
            addresses = (IPv4Address("10.0.0.1"),)
        return super().permitted(listed, head, addresses)


@wrong(refused=("private-name-tenant-10-8", "private-literal-tenant-run"))
class PrivateBlockedAlways(Proxy):
    """Opens no private network to the tenant's list."""

    def permitted(self, listed: Listed, head: Head, addresses: tuple[Address, ...]) -> Found:
        return super().permitted(Listed("manifest"), head, addresses)


@wrong(
    *("private-name-manifest-10-8", "private-literal-manifest-run", "private-harness-entry"),
    touched=("private-name-manifest-192-168-16",),
)
class AnyListOpensPrivate(Proxy):
    """Opens private networks to the manifest."""

    def permitted(self, listed: Listed, head: Head, addresses: tuple[Address, ...]) -> Found:
        return super().permitted(Listed("tenant"), head, addresses)


@wrong("special-tenant-loop4", "special-tenant-meta4", "private-cidr-loopback", "private-cidr-metadata")
class TenantOpensAll(Proxy):
    """Judges no address of a host on the tenant's list."""

    def permitted(self, listed: Listed, head: Head, addresses: tuple[Address, ...]) -> Found:
        return addresses if listed.which == "tenant" else super().permitted(listed, head, addresses)


@wrong("name-trailing-dot-private")
class DotSkipsCheck(Proxy):
    """Judges no address of a name with a dot at its end."""

    def permitted(self, listed: Listed, head: Head, addresses: tuple[Address, ...]) -> Found:
        if spelled(head.raw).endswith("."):
            return addresses
        return super().permitted(listed, head, addresses)


@wrong("private-cidr-name", "private-tenant-literal-covers-no-name")
class RangesCoverNames(Proxy):
    """Takes the tenant's addresses and ranges to open whatever name resolves into them."""

    def permitted(self, listed: Listed, head: Head, addresses: tuple[Address, ...]) -> Found:
        hosts = [entry.host for entry in self.lists.tenant]
        networks = [each.network for each in hosts if isinstance(each, Network)]
        single = {str(each) for each in hosts}
        if all(str(one) in single or any(one in net for net in networks) for one in addresses):
            listed = Listed("tenant")
        return super().permitted(listed, head, addresses)


@wrong("refusal-mixed-classes-order")
class LastClassNamed(Proxy):
    """Names the class of whichever forbidden answer comes last."""

    def permitted(self, listed: Listed, head: Head, addresses: tuple[Address, ...]) -> Found:
        for address in reversed(addresses):
            found = super().permitted(listed, head, (address,))
            if isinstance(found, Denial):
                return found
        return addresses


@wrong("special-tenant-self")
class ItselfIsAHost(Proxy):
    """Knows nothing of the node's own addresses."""

    def permitted(self, listed: Listed, head: Head, addresses: tuple[Address, ...]) -> Found:
        self.own = frozenset[Address]()
        return super().permitted(listed, head, addresses)
