"""Dialling whatever a host may mean: every reading, every answer, twice, and all at once.

Who checks one answer and dials another, falls back to the next, or asks again after a failure, ends
up here at the address that a row forbids. What is sent goes to all that were reached.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address

from runners.allow_all.lookup import look_up
from runners.allow_all.spelling import address, carried, hosts
from runners.contract import Egress
from runners.ways_out import leads_out

_CONNECT = 1.0  # seconds
_ROUNDS = 4  # look-ups of one host; two where something was reached
_MOST = 80  # addresses of one call


@dataclass(frozen=True, kw_only=True)
class Reached:
    """The upstreams of one call; the last one is whose answers count."""

    upstreams: Sequence[socket.socket]
    dialled: Sequence[str]  # "address:port", in order
    resolved: Sequence[str]  # every address and name that a look-up brought

    @property
    def upstream(self) -> socket.socket:
        """Whose answers count."""
        return self.upstreams[-1]

    def send(self, data: bytes) -> None:
        """To all that still listen. Raises OSError when the one that counts does not."""
        for each in self.upstreams[:-1]:
            with contextlib.suppress(OSError):
                each.sendall(data)
        self.upstream.sendall(data)

    def close(self) -> None:
        """All of them."""
        for each in self.upstreams:
            each.close()


class Unreached(Exception):  # noqa: N818 - an answer to the client
    """Nobody was reached; the text says who was dialled."""


@dataclass
class Dialler:
    """Dials for one proxy, and writes everything down before."""

    egress: Egress = field(default_factory=Egress)
    _dials: list[str] = field(default_factory=list[str])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def renew(self, egress: Egress) -> None:
        """Another network, and nothing written down yet."""
        with self._lock:
            self.egress = egress
            self._dials.clear()

    def dials(self) -> Sequence[str]:
        """What was dialled since `renew`."""
        with self._lock:
            return tuple(self._dials)

    def reach(self, asked: Iterable[tuple[str, tuple[int, ...]]]) -> Reached:
        """Connect to all that these hosts, each with its ports, may mean. Raises Unreached."""
        calls = [(reading, ports) for host, ports in asked for reading in reversed(hosts(host))]
        reached: dict[str, socket.socket] = {}
        tried: list[str] = []
        resolved: list[str] = []
        for count in range(_ROUNDS):
            if reached and count > 1:
                break
            for reading, ports in calls:  # what the target says plainly comes last, as the last one counts
                for each in self._addresses(reading, resolved):
                    for port in ports:
                        self._try(each, port, reached, tried)
        if not reached:
            raise Unreached(f"dialled {' '.join(tried) or 'nobody'}")
        return Reached(upstreams=tuple(reached.values()), dialled=tried, resolved=resolved)

    def _addresses(self, reading: str, resolved: list[str]) -> Iterable[str]:
        addresses = [each for each in (address(reading),) if each]
        if not addresses:
            addresses, names = look_up(self.egress.resolver, reading)
            resolved += [new for new in (*addresses, *names) if new not in resolved]
        return (*(inside for each in addresses for inside in carried(each)), *addresses)

    def _try(self, host: str, port: int, reached: dict[str, socket.socket], tried: list[str]) -> None:
        """Write the dial down, then dial."""
        end = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        if end in tried or len(tried) >= _MOST:
            return
        tried.append(end)
        with self._lock:
            self._dials.append(end)
        with contextlib.suppress(OSError):
            reached[end] = socket.create_connection(self._way(host, port, end), _CONNECT)

    def _way(self, host: str, port: int, end: str) -> tuple[str, int]:
        """Where that is. Raises OSError where a packet could leave the run's own network."""
        if self.egress.detours:
            if end not in self.egress.detours:
                raise OSError(f"no detour leads to {end}")
            return self.egress.detours[end]
        if not ip_address(host).is_loopback and (way := leads_out()):
            raise OSError(f"{end} is not dialled: {way} leads out")
        return host, port
