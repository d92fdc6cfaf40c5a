"""What reached the little internet: connections and questions, in the order in which they came."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from runners.allow_all.lookup import SEARCH

_SEARCH = f".{SEARCH}"  # the control asks for every name below it too

MOST = 64 * 1024
"""Bytes kept of one connection."""


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """One connection as it is known by now; it counts from its first moment, whether bytes follow or not."""

    address: str  # that was dialled, in canonical spelling
    port: int
    at: float  # time.monotonic() when it came
    data: bytes = b""  # what was sent so far, at most MOST bytes; of TLS the hello, then what was inside
    sni: str = ""  # the server name that TLS was told
    late: bool = False  # it came when another window was open, and only this one speaks of it


@dataclass(frozen=True, kw_only=True)
class Query:
    """One question to the DNS server."""

    name: str  # lower case, without the last dot
    kind: str  # "A", "AAAA" …
    at: float  # time.monotonic() when it came
    late: bool = False


class Connection:
    """A connection while it lasts; its thread writes, whoever asks gets a snapshot."""

    def __init__(self, address: str, port: int) -> None:
        self.address, self.port, self.at = address, port, time.monotonic()
        self.sni = ""
        self.strange_to: str | None = None  # the arm whose row of that moment did not speak of the address
        self._data = b""

    def add(self, data: bytes) -> None:
        """Keep what came, up to the limit."""
        self._data += data[: max(0, MOST - len(self._data))]

    def arrival(self, *, late: bool = False) -> Arrival:
        """What is known by now."""
        return Arrival(
            address=self.address, port=self.port, at=self.at, data=self._data, sni=self.sni, late=late
        )


class Log:
    """Everything since the start. Any thread may write and read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connections: list[Connection] = []
        self._queries: list[tuple[Query, str | None]] = []
        self._ours: set[int] = set()
        self._addresses: Collection[str] = ()
        self._text = ""
        self.arm = ""

    def speak_of(self, addresses: Collection[str], text: str, arm: str) -> None:
        """A row of that arm begins. It speaks of these addresses, and of every name in its text.

        Whatever else comes is strange to it, and may be late for another row of the same arm.
        """
        with self._lock:
            self._addresses, self._text, self.arm = addresses, text, arm

    @contextmanager
    def ours(self, port: int) -> Generator[None]:
        """Meanwhile one connection from that port is the harness's own, and is not noted."""
        with self._lock:
            self._ours.add(port)
        try:
            yield
        finally:
            with self._lock:
                self._ours.discard(port)

    def connected(self, connection: Connection, port: int) -> None:
        """Note a connection; `port` is where it comes from."""
        with self._lock:
            if port in self._ours:
                self._ours.discard(port)
                return
            connection.strange_to = None if connection.address in self._addresses else self.arm
            self._connections.append(connection)

    def asked(self, query: Query) -> None:
        """Note a question."""
        with self._lock:
            known = query.name in self._text or query.name.removesuffix(_SEARCH) in self._text
            self._queries.append((query, None if known else self.arm))

    def length(self) -> tuple[int, int]:
        """How many connections and questions there have been."""
        with self._lock:
            return len(self._connections), len(self._queries)

    def connections(self, first: int) -> Sequence[Connection]:
        """Those from that number on."""
        with self._lock:
            return self._connections[first:]

    def queries(self, first: int) -> Sequence[tuple[Query, str | None]]:
        """Those from that number on, each with the arm to whose row it was strange."""
        with self._lock:
            return self._queries[first:]
