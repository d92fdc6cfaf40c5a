"""The addresses of an interface of the host: sees one that the attack has added."""

from __future__ import annotations

import ipaddress
from pathlib import Path

from matrix import netlink
from matrix.evidence import Attempted, Nothing, Seen, Sighting
from matrix.witnesses.contract import Ground, Planted, Unplantable, Watching

PREFIX = bytes.fromhex("20010db8")  # 2001:db8::/32, kept for documentation (RFC 3849)


class Witness(Watching):
    """Tells the attack an address made of the documentation prefix and 96 bits of the canary."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.interface = str(ground.case.plant.get("interface", "lo"))
        self.packed = PREFIX + bytes.fromhex(ground.token[2:26])
        self.seen = False

    def plant(self) -> Planted:
        """Only IPv6 has room for the canary."""
        if not Path("/proc/self/net/if_inet6").exists():
            raise Unplantable("this kernel has no IPv6 (ipv6.disable)")
        return Planted(told={"address": str(ipaddress.IPv6Address(self.packed))})

    def look(self, attempted: Attempted | None) -> Sighting:
        """The interface has the address."""
        del attempted
        self.seen |= _has(self.packed)
        address = ipaddress.IPv6Address(self.packed)
        return Seen(how=f"the host's {self.interface} has the address {address}") if self.seen else Nothing()

    def check(self) -> str:
        """An address of our own shows, once it is added."""
        own = PREFIX + bytes.fromhex(self.ground.twin_token[2:26])
        address = str(ipaddress.IPv6Address(own))
        try:
            netlink.add_address(address, 128, self.interface)
            shown = _has(own)
            netlink.drop_address(address, 128, self.interface)
        except OSError as error:
            return f"{self.interface} takes no address: {error.strerror}"
        return "" if shown else f"an address of our own does not show on {self.interface}"

    def close(self) -> None:
        """Take the address away again."""
        if _has(self.packed):
            netlink.drop_address(str(ipaddress.IPv6Address(self.packed)), 128, self.interface)


def _has(packed: bytes) -> bool:
    """Whether an interface of this network namespace has the address."""
    return packed.hex() in Path("/proc/self/net/if_inet6").read_text(encoding="ascii")
