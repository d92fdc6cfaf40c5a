"""Proxies that read requests wrongly, or pass them on wrongly."""

from __future__ import annotations

import asyncio
import re
import socket
import unicodedata
from dataclasses import replace
from urllib.parse import unquote_to_bytes

import h11

from matrix.tests.wrong.double import spelled, wrong
from runners.contract import Denial, Egress
from runners.tier1.addresses import Address
from runners.tier1.forward import Done, Headers, onward
from runners.tier1.head import Head
from runners.tier1.hosts import Host, Name, read_authority
from runners.tier1.judge import Listed
from runners.tier1.proxy import Proxy
from runners.tier1.resolve import Unreached
from runners.tier1.visit import Visit

_HOST = re.compile(rb"(?im)^Host: *(.*?)\r$")


class Careless(Proxy):
    """Repairs what is malformed, and goes on with what it made of it."""

    def repaired(self, raw: bytes) -> bytes:
        """What it makes of a head."""
        raise NotImplementedError

    def asked(self, raw: bytes) -> Head | Denial:
        """The request as it is, or as it was repaired."""
        found = super().asked(raw)
        return super().asked(self.repaired(raw)) if isinstance(found, Denial) else found


@wrong("port-bad-overflow", "port-bad-65536")
class PortWraps(Careless):
    """Counts ports modulo 65536."""

    def repaired(self, raw: bytes) -> bytes:
        return re.sub(rb"(?<=:)\d{5,}", lambda port: b"%d" % (int(port[0]) % 65536), raw)


@wrong("name-percent", "name-percent-listed")
class DecodesPercent(Careless):
    """Decodes %2e in hosts."""

    def repaired(self, raw: bytes) -> bytes:
        return unquote_to_bytes(raw)


@wrong("name-idn-fullwidth")
class FoldsLetters(Careless):
    """Takes full-width letters for plain ones."""

    def repaired(self, raw: bytes) -> bytes:
        return unicodedata.normalize("NFKC", raw.decode(errors="replace")).encode()


@wrong("name-nul")
class StopsAtNul(Careless):
    """Reads a name up to its NUL."""

    def repaired(self, raw: bytes) -> bytes:
        return re.sub(rb"\0[^:\s]*", b"", raw)


@wrong("mm-userinfo-reverse")
class DropsUser(Careless):
    """Drops what stands before an @."""

    def repaired(self, raw: bytes) -> bytes:
        return re.sub(rb"(?<=//)[^/\s]*@", b"", raw)


@wrong("mm-cl-te")
class TwoFramings(Careless):
    """Lets Transfer-Encoding win over Content-Length."""

    def repaired(self, raw: bytes) -> bytes:
        return re.sub(rb"(?i)Content-Length:.*\r\n", b"", raw)


@wrong("mm-bare-lf")
class BareLineFeeds(Careless):
    """Takes a line feed alone for the end of a line."""

    def repaired(self, raw: bytes) -> bytes:
        return re.sub(rb"\r?\n", b"\r\n", raw)


@wrong("mm-host-missing")
class NeedsNoHost(Careless):
    """Takes HTTP/1.1 without Host."""

    def repaired(self, raw: bytes) -> bytes:
        return raw.replace(b"\r\n", b"\r\nHost: %s\r\n" % spelled(raw).encode("latin-1"), 1)


@wrong("mm-origin-form-listed")
class OriginForm(Careless):
    """Serves requests that name no address, by their Host."""

    def repaired(self, raw: bytes) -> bytes:
        host = _HOST.search(raw)
        return raw.replace(b" /", b" http://%s/" % (host[1] if host else b""), 1)


@wrong(
    *("basic-http-unlisted", "private-http-manifest", "scheme-https-absolute-unlisted"),
)
class ConnectOnlyFilter(Careless):
    """Filters CONNECT, and lets whatever else through."""

    def repaired(self, raw: bytes) -> bytes:
        return raw.replace(b" https://", b" http://", 1)

    def listed(self, head: Head) -> Listed | Denial:
        return super().listed(head) if head.tunnel else Listed("manifest")

    def permitted(
        self, listed: Listed, head: Head, addresses: tuple[Address, ...]
    ) -> tuple[Address, ...] | Denial:
        return super().permitted(listed, head, addresses) if head.tunnel else addresses


@wrong("basic-connect-unlisted", touched=("private-name-manifest-192-168-16",))
class HttpOnlyFilter(Proxy):
    """Filters plain requests, and lets CONNECT through."""

    def listed(self, head: Head) -> Listed | Denial:
        return Listed("manifest") if head.tunnel else super().listed(head)

    def permitted(
        self, listed: Listed, head: Head, addresses: tuple[Address, ...]
    ) -> tuple[Address, ...] | Denial:
        return addresses if head.tunnel else super().permitted(listed, head, addresses)


class TwoHosts(Proxy):
    """Lets Host say something else than the request line."""

    def asked(self, raw: bytes) -> Head | Denial:
        """The request by its request line."""
        found = super().asked(raw)
        if not (isinstance(found, Denial) and found.kind == "mismatch"):
            return found
        head = super().asked(_HOST.sub(b"Host: %s\r" % f"{found.host}:{found.port}".encode(), raw))
        return head if isinstance(head, Denial) else replace(head, raw=raw)

    def said(self, head: Head) -> Host:
        """What Host says, if it can be read; else what the request line does."""
        host = _HOST.search(head.raw)
        authority = read_authority(host[1].decode("latin-1"), 80) if host else None
        return authority[0] if isinstance(authority, tuple) else head.host


@wrong("mm-host-header", "mm-host-header-reverse")
class HostHeaderDecides(TwoHosts):
    """Matches what Host says, and dials what the request line does."""

    def listed(self, head: Head) -> Listed | Denial:
        return super().listed(replace(head, host=self.said(head)))


@wrong("mm-host-header")
class ForwardsHostAsGiven(TwoHosts):
    """Matches what the request line says, and sends Host on as it came."""

    async def forward(self, visit: Visit, upstream: socket.socket, head: Head) -> Done | Denial | Unreached:
        return await super().forward(visit, upstream, replace(head, host=self.said(head)))


@wrong("mm-pipeline", "live-keepalive", "basic-keepalive-unlisted")
class FirstRequestOnly(Proxy):
    """Judges the first request of a connection, and nothing that comes after it."""

    def __init__(self, egress: Egress, own: frozenset[Address] = frozenset()) -> None:
        super().__init__(egress, own)
        self.known: set[Visit] = set()

    async def opened(self, visit: Visit, head: Head) -> socket.socket | Denial | Unreached:
        if visit in self.known:
            found = await self.resolved(head)
            return found if isinstance(found, Unreached) else await self.reached(head, found)
        upstream = await super().opened(visit, head)
        self.known.add(visit)
        visit.call = None
        return upstream


async def answer(upstream: socket.socket, head: Head, headers: Headers) -> bytes:
    """The whole answer to a request without a body."""
    loop, connection = asyncio.get_running_loop(), h11.Connection(h11.CLIENT)
    request = h11.Request(method=head.method, target=head.path, headers=headers)
    await loop.sock_sendall(upstream, connection.send(request))
    said = b""
    while more := await loop.sock_recv(upstream, 1 << 16):
        said += more
    return said


@wrong("redir-proxy-does-not-follow")
class FollowsRedirects(Proxy):
    """Goes itself where an answer sends its client."""

    async def forward(self, visit: Visit, upstream: socket.socket, head: Head) -> Done | Denial | Unreached:
        said = await answer(upstream, head, onward(head))
        moved = re.search(rb"(?i)\nLocation: http://([a-z0-9.-]+)(/\S*)", said)
        if moved:
            there = replace(head, host=Name(moved[1].decode()), path=moved[2].decode())
            addresses = await self.resolved(there)
            if not isinstance(addresses, Unreached):
                upstream = await self.reached(there, addresses)  # pyright: ignore[reportAssignmentType]
                said = await answer(upstream, there, onward(there))
                upstream.close()
        await visit.send(said)
        return Done(again=False)


@wrong("mm-hop-headers", "mm-h2c-upgrade")
class PassesHopHeaders(Proxy):
    """Sends on what was meant for itself."""

    async def forward(self, visit: Visit, upstream: socket.socket, head: Head) -> Done | Denial | Unreached:
        await visit.send(await answer(upstream, head, [*head.headers, (b"Connection", b"close")]))
        return Done(again=False)


@wrong("redir-to-unlisted")
class TrustsRedirects(Proxy):
    """Lets its client go wherever an answer sends it."""

    def _begin(self, egress: Egress) -> None:
        self.trusted: set[str] = set()
        super()._begin(egress)

    def listed(self, head: Head) -> Listed | Denial:
        return Listed("manifest") if str(head.host) in self.trusted else super().listed(head)

    async def forward(self, visit: Visit, upstream: socket.socket, head: Head) -> Done | Denial | Unreached:
        said = await answer(upstream, head, onward(head))
        hosts = re.findall(rb"(?i)\nLocation: http://([a-z0-9.-]+)", said)
        self.trusted |= {host.decode() for host in hosts}
        await visit.send(said)
        return Done(again=False)
