"""The egress proxy of one command: what it asks for is judged, resolved, judged again, and only then dialled.

Each step is a method, so that a proxy that does one of them wrongly is a few lines. Whom it asks for
names and who dials are given to it. It runs in one asyncio loop and shares nothing with its neighbour.
"""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import socket
from collections.abc import Callable, Collection
from contextlib import suppress
from ipaddress import ip_address

from runners.contract import Denial, Egress, Proposal
from runners.tier1 import words
from runners.tier1.addresses import Address, classify
from runners.tier1.dial import Dialler, dialler, reach
from runners.tier1.forward import Done, forward
from runners.tier1.head import Head, read_head
from runners.tier1.hosts import Literal
from runners.tier1.journal import Journal
from runners.tier1.judge import Listed, judge_addresses, judge_name
from runners.tier1.learn import propose
from runners.tier1.lists import Lists
from runners.tier1.resolve import Dns, Resolver, Unreached
from runners.tier1.tunnel import tunnel
from runners.tier1.visit import Call, Visit

MOST_VISITS = 1000
"""Connections of clients at once; more wait to be accepted."""
_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_PHRASES = {408: "Request Timeout", 502: "Bad Gateway", 504: "Gateway Timeout"}


class Proxy:
    """One command's proxy: two lists, and what is open under them."""

    def __init__(
        self,
        egress: Egress,
        own: frozenset[Address] = frozenset(),
        *,
        resolver: Callable[[Egress], Resolver] = lambda egress: Dns(egress.resolver),
        dialler: Callable[[Egress], Dialler] = dialler,
    ) -> None:
        """`own` are the node's own addresses, which nothing reaches by any list."""
        self.own = _told_apart(own)
        self._visits: set[Visit] = set()
        self._resolver_of, self._dialler_of = resolver, dialler
        self._begin(egress)

    # --- what an operator asks of it

    def renew(self, egress: Egress) -> None:
        """Begin anew under these lists: what is open is cut, and nothing of before is on record."""
        for visit in tuple(self._visits):
            visit.cut()
        self._begin(egress)

    def change(self, egress: Egress) -> tuple[str, ...]:
        """Put these lists in force at once and whole; or none of them, for what is wrong with them.

        What is open under an entry that is gone is cut, which is on record as the refusal that it is.
        """
        after = self.lists.change(egress)
        if not isinstance(after, Lists):
            faults = tuple(str(fault) for fault in after)
            self.journal.note("change refused", faults=faults)
            return faults
        self._take(egress, after)
        self.journal.note("lists", manifest=egress.manifest, tenant=egress.tenant)
        for visit in tuple(self._visits):
            if visit.call and isinstance(denial := self.judged(visit.call), Denial):
                self.record(denial)
                visit.cut()
        return ()

    @property
    def proposals(self) -> tuple[Proposal, ...]:
        """What would allow what was refused."""
        return propose(self.journal.denials)

    # --- one call, step by step

    def asked(self, raw: bytes) -> Head | Denial:
        """What a request's head asks for."""
        return read_head(raw)

    def listed(self, head: Head) -> Listed | Denial:
        """Whether a list has the host; it is not resolved before."""
        return judge_name(self.lists, head.host, head.port)

    async def resolved(self, head: Head) -> tuple[Address, ...] | Unreached:
        """Every address of the host, asked for now and not kept."""
        match head.host:
            case Literal(address):
                return (address,)
            case name:
                return await self.resolver.resolve(name.text)

    def permitted(
        self, listed: Listed, head: Head, addresses: tuple[Address, ...]
    ) -> tuple[Address, ...] | Denial:
        """The addresses that may be dialled: all of them, or none."""
        return judge_addresses(listed, head.host, head.port, addresses, self.own)

    async def reached(self, head: Head, addresses: tuple[Address, ...]) -> socket.socket | Unreached:
        """A connection to one of exactly these addresses; each is on record before it is dialled."""
        lists, journal = self.lists, self.journal

        def note(where: str) -> None:
            if self.lists is not lists and isinstance(self.judged(Call(head, addresses)), Denial):
                raise OSError(errno.ECANCELED, os.strerror(errno.ECANCELED))
            journal.dial(where)

        return await reach(self.dialler, addresses, head.port, note)

    def judged(self, call: Call) -> tuple[Address, ...] | Denial:
        """What these lists say of a call whose addresses are known."""
        listed = self.listed(call.head)
        return listed if isinstance(listed, Denial) else self.permitted(listed, call.head, call.addresses)

    async def opened(self, visit: Visit, head: Head) -> socket.socket | Denial | Unreached:
        """The connection that a request may have."""
        listed = self.listed(head)
        if isinstance(listed, Denial):
            return listed
        addresses = await self.resolved(head)
        if isinstance(addresses, Unreached):
            return addresses
        found = self.judged(Call(head, addresses))  # the lists may be others by now
        if isinstance(found, Denial):
            return found
        visit.call = Call(head, found)  # from here on a change of the lists cuts it
        return await self.reached(head, found)

    def record(self, denial: Denial) -> None:
        """Keep a refusal, for the operator."""
        self.journal.deny(denial)

    def refusal(self, denial: Denial) -> words.Refusal:
        """What the client is told of a refusal."""
        return words.refusal(denial)

    async def forward(self, visit: Visit, upstream: socket.socket, head: Head) -> Done | Denial | Unreached:
        """One plain request, there and back."""
        return await forward(visit, upstream, head)

    async def tunnel(self, visit: Visit, upstream: socket.socket, head: Head) -> Denial | None:
        """The bytes behind a CONNECT, in both directions, or what is wrong with the first of them."""
        return await tunnel(visit, upstream, head.host, head.port)

    # --- the connections

    async def serve(self, listener: socket.socket) -> None:
        """Serve every client of this listening socket, until cancelled; then nothing stays open."""
        loop = asyncio.get_running_loop()
        listener.setblocking(False)
        self.own |= _told_apart({ip_address(listener.getsockname()[0])})
        room = asyncio.Semaphore(_most_visits())
        try:
            while True:
                await room.acquire()
                try:
                    sock, _ = await loop.sock_accept(listener)
                except OSError:  # that client is gone, or there is no descriptor just now
                    room.release()
                    await asyncio.sleep(0.01)
                    continue
                visit = Visit(sock)
                self._visits.add(visit)
                visit.task = asyncio.create_task(self._serve(visit))
                visit.task.add_done_callback(lambda _, visit=visit: self._gone(visit, room))
        finally:
            for visit in tuple(self._visits):
                visit.cut()
            await asyncio.gather(
                *(visit.task for visit in self._visits if visit.task), return_exceptions=True
            )

    def _gone(self, visit: Visit, room: asyncio.Semaphore) -> None:
        visit.leave()
        visit.sock.close()
        self._visits.discard(visit)
        room.release()
        if visit.task and not visit.task.cancelled() and (error := visit.task.exception()):
            self.journal.note("broken", error=repr(error))  # a mistake of ours: that client got nothing

    async def _serve(self, visit: Visit) -> None:
        """All requests of one client, each judged anew."""
        with suppress(OSError):  # the client is lost
            while await self._request(visit):
                pass

    async def _request(self, visit: Visit) -> bool:
        """One request; whether there may be another on this connection."""
        try:
            raw = await visit.head()
        except TimeoutError:
            await self._fail(visit, Unreached(408, "the request did not come to its end in time"))
            return False
        if not raw:
            return False
        visit.call = None
        match await self._answer(visit, raw):
            case Denial() as denial:
                self.record(denial)
                await self._refuse(visit, denial)
            case Unreached() as unreached:
                await self._fail(visit, unreached)
            case Done(again=True):
                return True
            case Done():
                await visit.farewell(b"")
        return False

    async def _answer(self, visit: Visit, raw: bytes) -> Done | Denial | Unreached:
        head = self.asked(raw)
        if isinstance(head, Denial):
            return head
        upstream = await self.opened(visit, head)
        if not isinstance(upstream, socket.socket):
            return upstream
        visit.upstream = upstream
        if not head.tunnel:
            try:
                return await self.forward(visit, upstream, head)
            finally:
                visit.upstream = None
                upstream.close()
        await visit.send(_ESTABLISHED)
        if denial := await self.tunnel(visit, upstream, head):
            self.record(denial)  # the client has its 200 already, and now an end
            visit.shut()
        return Done(again=False)

    async def _refuse(self, visit: Visit, denial: Denial) -> None:
        said = self.refusal(denial)
        await visit.farewell(_response(said.status, said.reason, said.headers, said.body))

    async def _fail(self, visit: Visit, unreached: Unreached) -> None:
        await visit.farewell(
            _response(unreached.status, _PHRASES[unreached.status], (), f"{unreached.why}\n")
        )

    def _begin(self, egress: Egress) -> None:
        lists = Lists.read(egress, strict=False)
        self.journal = Journal()
        self._take(egress, lists)
        self.journal.note(
            "lists",
            manifest=egress.manifest,
            tenant=egress.tenant,
            faults=[str(fault) for fault in lists.faults],
        )

    def _take(self, egress: Egress, lists: Lists) -> None:
        self.lists = lists
        self.resolver = self._resolver_of(egress)
        self.dialler = self._dialler_of(egress)


def _told_apart(own: Collection[Address]) -> frozenset[Address]:
    """Those of which only this node knows that they are its own; loopback is every node's."""
    return frozenset(each for each in own if classify(each).kind != "special")


def _response(status: int, reason: str, headers: tuple[tuple[str, str], ...], body: str) -> bytes:
    content = body.encode()
    lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in headers)]
    lines += [
        "Content-Type: text/plain; charset=utf-8",
        f"Content-Length: {len(content)}",
        "Connection: close",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + content


def _most_visits() -> int:
    """Each has two descriptors and, while a name is asked for, two more."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, min(MOST_VISITS, (limit - 64) // 4))
