"""Where the addresses of a row are: in the network world as they are, or in a table of detours.

Nobody but these two knows which of them it is.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Collection, Iterable, Mapping
from ipaddress import ip_address
from typing import Protocol

from matrix import netlink
from matrix.internet.addresses import arrives
from matrix.internet.servers import Place, Servers

PORTS = (22, 25, 80, 443, 5432, 8080, 8443)
"""Ports that are listened on for every row of a world."""

LOOPBACK = "127.0.0.1"


class Ground(Protocol):
    """Takes care that a dial to an address of the row comes to a listener of ours, and no other does."""

    resolver_port: int
    """The port of 127.0.0.1 on which names are asked for; 0 where any will do."""

    def lay(self, addresses: Iterable[str], ports: Collection[int], closed: Collection[str]) -> None:
        """From now on these are listened at, but for the closed ones. Raises OSError."""
        ...

    @property
    def detours(self) -> Mapping[str, tuple[str, int]]:
        """As in `Egress.detours`."""
        ...

    def close(self) -> None:
        """Give back what is held."""
        ...

    def way(self, address: str, port: int) -> tuple[str, int]:
        """Where to dial, to reach the listener at that address and port. Raises OSError for none."""
        ...


class InWorld:
    """Every address is a route to ourselves, so that what is dialled arrives, and no interface shows it."""

    resolver_port = 53
    detours: Mapping[str, tuple[str, int]] = {}

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._known: set[str] = set()
        self._single: set[Place] = set()

    def lay(self, addresses: Iterable[str], ports: Collection[int], closed: Collection[str]) -> None:
        """Route what is new; listen on every port, or beside what is closed."""
        new = {arrives(address) for address in (*addresses, LOOPBACK, "::1")} - self._known
        for address in new:
            if not ip_address(address).is_loopback:
                netlink.route_here(address)
        self._known |= new
        for place in self._single:
            self._servers.shut(place)
        self._single.clear()
        refusing = {arrives(address) for address in closed}
        for port in {*PORTS, *ports}:
            if refusing and port in ports:
                self._beside(port, refusing)
            else:
                self._everywhere(port)

    def way(self, address: str, port: int) -> tuple[str, int]:
        """As it is."""
        return address, port

    def close(self) -> None:
        """Routes end with the world."""

    def _everywhere(self, port: int) -> None:
        self._servers.listen(Place("", port, 4))
        with contextlib.suppress(OSError):  # IPv6 is off: then nobody can dial it either
            self._servers.listen(Place("", port, 6))

    def _beside(self, port: int, refusing: Collection[str]) -> None:
        for version in (4, 6):
            self._servers.shut(Place("", port, version))
        for address in self._known - {*refusing}:
            place = Place(address, port)
            self._servers.listen(place)
            self._single.add(place)


class InTable:
    """Every address and port of a row has a port of 127.0.0.1 that stands for it."""

    resolver_port = 0

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._detours: dict[str, tuple[str, int]] = {}
        self._refusing = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._refusing.bind((LOOPBACK, 0))  # and nobody listens: a dial is refused

    def lay(self, addresses: Iterable[str], ports: Collection[int], closed: Collection[str]) -> None:
        """One listener for each; they are kept, as a late dial comes by an old detour."""
        refusing = {arrives(address) for address in closed}
        self._detours = {}
        for address in {*addresses, LOOPBACK, "::1"}:
            for port in {80, 443, *ports}:
                there = self._refusing.getsockname()[1]
                if arrives(address) not in refusing:
                    there = self._listen(Place(arrives(address), port))
                for spelling in _spellings(address):
                    self._detours[end(spelling, port)] = (LOOPBACK, there)

    def close(self) -> None:
        """The port that refuses."""
        self._refusing.close()

    def _listen(self, place: Place) -> int:
        return self._servers.listen(Place(LOOPBACK, 0), stands_for=place)

    @property
    def detours(self) -> Mapping[str, tuple[str, int]]:
        """Of the row of the moment."""
        return dict(self._detours)

    def way(self, address: str, port: int) -> tuple[str, int]:
        """By its detour."""
        if found := self._detours.get(end(address, port)):
            return found
        raise OSError(f"no detour leads to {end(address, port)}")


def end(address: str, port: int) -> str:
    """Address and port as one text, IPv6 in brackets."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _spellings(address: str) -> set[str]:
    """How Pythons of different age write an address: IPv4 inside IPv6 in dots, or not."""
    found = ip_address(address)
    return {
        address,
        str(found),
        *((f"::ffff:{inside}",) if (inside := getattr(found, "ipv4_mapped", None)) else ()),
    }
