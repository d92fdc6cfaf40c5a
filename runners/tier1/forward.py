"""Plain HTTP: one request goes to the server that was judged for it, and its answer comes back as it arrives.

Both messages are read by h11 and written anew, so that both ends agree on where they end. What is meant
for the next hop alone stays here. Redirects are the client's to follow. An upgrade is passed on where it
is to a web socket; others, h2c for one, would be requests that nobody judges.

Sources: RFC 9110 7.6.1 (what is for one hop), 7.8 (upgrade), 10.1.1 (100-continue); RFC 6455 4.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable
from dataclasses import dataclass

import h11

from runners.contract import Denial
from runners.tier1.head import HTTP_PORT, MOST_BYTES, Head
from runners.tier1.judge import malformed
from runners.tier1.resolve import Unreached
from runners.tier1.tunnel import CHUNK, both, pour
from runners.tier1.turns import receive, send
from runners.tier1.visit import Visit

SILENCE = 600.0
"""Seconds that a server may say nothing, while it is sent a body too."""
_HOP = frozenset((b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade"))
_KEPT = frozenset((b"content-length", b"host"))  # no Connection header takes these away
_SWITCHING, _OLD = 101, b"1.0"

Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Done:
    """The client has an answer, or as much of one as there was."""

    again: bool  # whether its connection may carry another request


async def forward(visit: Visit, upstream: socket.socket, head: Head) -> Done | Denial | Unreached:
    """One request and its answer; not Done where the client has been told nothing yet."""
    exchange = _Exchange(visit, upstream, head)
    try:
        return await exchange.run()
    except TimeoutError:
        return Done(again=False) if exchange.begun else Unreached(504, "the server did not answer in time")
    except (OSError, h11.ProtocolError):
        return Done(again=False) if exchange.begun else Unreached(502, "the server's answer is no HTTP")


def onward(head: Head) -> Headers:
    """The headers that the server gets: the checked host, and nothing that was meant for the proxy."""
    host = str(head.host) if head.port == HTTP_PORT else f"{head.host}:{head.port}"
    headers = [(b"Host", host.encode())]
    headers += [each for each in end_to_end(head.headers) if each[0].lower() != b"host"]
    if head.values(b"transfer-encoding"):
        headers.append((b"Transfer-Encoding", b"chunked"))
    if is_websocket(head):
        return [*headers, (b"Connection", b"Upgrade"), (b"Upgrade", b"websocket")]
    return [*headers, (b"Connection", b"close")]


def is_websocket(head: Head) -> bool:
    """Whether it asks to go on as a web socket, and as nothing else."""
    return [value.strip().lower() for value in head.values(b"upgrade")] == [b"websocket"]


def end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """The headers that are not for the next hop alone."""
    listed = [(name, name.lower(), value) for name, value in headers]
    connection = b",".join(value for _, lower, value in listed if lower == b"connection")
    gone = _HOP | {word.strip().lower() for word in connection.split(b",")} - _KEPT
    return [
        (name, value)
        for name, lower, value in listed
        if lower not in gone and not lower.startswith(b"proxy-")
    ]


class _Exchange:
    """One request on its way there, and its answer on the way back, at the same time."""

    def __init__(self, visit: Visit, upstream: socket.socket, head: Head) -> None:
        self.begun = False  # whether the client has something of the answer
        self._visit, self._upstream, self._head = visit, upstream, head
        self._down = h11.Connection(h11.SERVER, max_incomplete_event_size=MOST_BYTES)
        self._up = h11.Connection(h11.CLIENT, max_incomplete_event_size=MOST_BYTES)
        self._down.receive_data(head.raw)
        self._down.next_event()

    async def run(self) -> Done | Denial | Unreached:
        head = self._head
        request = h11.Request(method=head.method, target=head.path, headers=onward(head))
        await send(self._upstream, self._up.send(request))
        body, answer = asyncio.create_task(self._body()), asyncio.create_task(self._answer())
        try:
            await asyncio.wait({body, answer}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done() and not body.result():
                why = "a body that cannot be read to its end"
                return Done(again=False) if self.begun else malformed(str(head.host), why, head.port)
            await answer
        finally:
            for task in (body, answer):
                task.cancel()
            await asyncio.gather(body, answer, return_exceptions=True)
        if self._down.our_state is h11.SWITCHED_PROTOCOL:
            await self._switch()
        again = self._down.states == {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE}
        self._visit.unread(self._down.trailing_data[0] if again else b"")
        return Done(again=again)

    async def _body(self) -> bool:
        """Send the request's body on; whether the client sent it whole, as far as the server wanted it."""
        while True:
            try:
                event = self._down.next_event()
                if event is h11.NEED_DATA:
                    self._down.receive_data(await self._visit.receive())
                    continue
            except (h11.RemoteProtocolError, OSError):
                return False
            ended = not isinstance(event, h11.Data)
            sent = self._up.send(h11.EndOfMessage() if ended else event)
            try:
                await send(self._upstream, sent)
            except OSError:  # what it says may still be read
                return True
            if ended:
                return True

    async def _answer(self) -> None:
        """Send the answer on, to its end or to where the protocol changes."""
        while True:
            event = self._up.next_event()
            match event:
                case h11.InformationalResponse(status_code=code):
                    await self._inform(event)
                    if code == _SWITCHING:
                        return
                case h11.Response():
                    headers = end_to_end(event.headers.raw_items())
                    await self._tell(
                        h11.Response(status_code=event.status_code, reason=event.reason, headers=headers)
                    )
                case h11.Data():
                    await self._tell(event)
                case h11.EndOfMessage():
                    await self._tell(h11.EndOfMessage())
                    return
                case h11.ConnectionClosed():
                    raise h11.RemoteProtocolError("no answer")
                case _:
                    async with asyncio.timeout(SILENCE):
                        self._up.receive_data(await receive(self._upstream, CHUNK))

    async def _inform(self, event: h11.InformationalResponse) -> None:
        """What comes before the answer; HTTP/1.0 knows no such thing."""
        headers = end_to_end(event.headers.raw_items())
        if event.status_code == _SWITCHING:
            headers += [(b"Connection", b"Upgrade"), (b"Upgrade", b"websocket")]
        if self._down.their_http_version != _OLD:
            await self._tell(
                h11.InformationalResponse(status_code=event.status_code, reason=event.reason, headers=headers)
            )

    async def _tell(self, event: h11.Event) -> None:
        sent = self._down.send(event)
        if sent:
            self.begun = True
            await self._visit.send(sent)

    async def _switch(self) -> None:
        """Bytes pass as they are, in both directions, to the server that was judged."""
        there, back = self._down.trailing_data[0] + self._visit.ahead(), self._up.trailing_data[0]
        sock = self._visit.sock
        await both(pour(sock, self._upstream, there), pour(self._upstream, sock, back))
