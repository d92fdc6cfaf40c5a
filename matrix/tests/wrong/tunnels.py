"""Proxies that look wrongly at what begins a tunnel."""

from __future__ import annotations

import socket
from dataclasses import replace

from matrix.tests.wrong.double import wrong
from runners.contract import Denial
from runners.tier1.head import Head
from runners.tier1.hello import Hello, read_hello
from runners.tier1.hosts import read_host
from runners.tier1.judge import Listed, mismatch
from runners.tier1.proxy import Proxy
from runners.tier1.tunnel import both, pour
from runners.tier1.visit import Visit


@wrong("mm-sni-other", "mm-sni-private-name", "mm-sni-ech-outer", "record-sni-mismatch")
class LetsSniPass(Proxy):
    """Looks at nothing that goes through a tunnel."""

    async def tunnel(self, visit: Visit, upstream: socket.socket, head: Head) -> Denial | None:
        await both(pour(visit.sock, upstream, visit.ahead()), pour(upstream, visit.sock))
        return None


@wrong("mm-sni-split-other", "mm-sni-two")
class ReadsHelloAtOnce(Proxy):
    """Looks at the first server name of a hello that is in one record."""

    async def tunnel(self, visit: Visit, upstream: socket.socket, head: Head) -> Denial | None:
        said = await visit.receive()
        match read_hello(said[: 5 + int.from_bytes(said[3:5])]):
            case Hello((first, *_)) if read_host(first) != head.host:
                return mismatch(head.host, head.port)
            case _:
                await both(pour(visit.sock, upstream, said), pour(upstream, visit.sock))
        return None


@wrong("mm-sni-port-80")
class SniOn443Alone(Proxy):
    """Looks into tunnels to port 443 only."""

    async def tunnel(self, visit: Visit, upstream: socket.socket, head: Head) -> Denial | None:
        if head.port == 443:
            return await super().tunnel(visit, upstream, head)
        await both(pour(visit.sock, upstream, visit.ahead()), pour(upstream, visit.sock))
        return None


@wrong("mm-sni-sibling")
class AnyListedSni(Proxy):
    """Lets a tunnel name whatever host is listed."""

    async def tunnel(self, visit: Visit, upstream: socket.socket, head: Head) -> Denial | None:
        said = await visit.receive()
        visit.unread(said)
        match read_hello(said):
            case Hello((name,)):
                other = replace(head, host=read_host(name))  # pyright: ignore[reportArgumentType]
                return await super().tunnel(
                    visit, upstream, other if isinstance(self.listed(other), Listed) else head
                )
            case _:
                return await super().tunnel(visit, upstream, head)


@wrong(refused=("mm-sni-upper",))
class SniByLetter(Proxy):
    """Compares server names letter by letter."""

    async def tunnel(self, visit: Visit, upstream: socket.socket, head: Head) -> Denial | None:
        said = await visit.receive()
        visit.unread(said)
        match read_hello(said):
            case Hello((name,)) if name != str(head.host):
                return mismatch(head.host, head.port)
            case _:
                return await super().tunnel(visit, upstream, head)
