"""Bytes between a client and the upstreams of its call."""

from __future__ import annotations

import contextlib
import re
import selectors
import socket
import ssl
from dataclasses import dataclass, replace

from runners.allow_all.dialling import Reached

_IDLE = 20.0  # seconds that a tunnel may be silent
_ANSWER = 3.0  # seconds that an upstream may take
_MOST = 8 * 1024 * 1024  # bytes of an answer
_END = re.compile(rb"\r?\n\r?\n")
_INTERIM = re.compile(rb"^HTTP/\S+ 1(?!01)(?:.*\n)+?\r?\n")  # what comes before the answer


@dataclass(frozen=True, kw_only=True)
class Response:
    """What an upstream answered."""

    data: bytes
    location: str = ""  # where it sends the client instead
    switched: bool = False  # to another protocol: what follows is not HTTP


def carry(client: socket.socket, reached: Reached) -> None:
    """Both ways, until either side ends or nothing is said for a while. Raises OSError.

    The client's bytes go to every upstream; only those of the one that counts come back.
    """
    with selectors.DefaultSelector() as ready:
        for each in (client, *reached.upstreams):
            each.setblocking(True)
            ready.register(each, selectors.EVENT_READ)
        while found := ready.select(_IDLE):
            for source in [key.fileobj for key, _ in found]:
                assert isinstance(source, socket.socket)  # noqa: S101 - nothing else was registered
                data = b""
                with contextlib.suppress(OSError):
                    data = source.recv(1 << 16)
                if not data and source in {client, reached.upstream}:
                    return
                if not data:
                    ready.unregister(source)
                elif source is client:
                    reached.send(data)
                elif source is reached.upstream:
                    client.sendall(data)


def encrypt(reached: Reached) -> Reached:
    """The same upstreams inside TLS, whoever they say they are; those that do not speak it are left out.

    Raises OSError where the one that counts does not.
    """
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    secure: list[socket.socket] = []
    for each in reached.upstreams[:-1]:
        with contextlib.suppress(OSError):
            secure.append(context.wrap_socket(each))
    secure.append(context.wrap_socket(reached.upstream))
    return replace(reached, upstreams=secure)


def response(upstream: socket.socket, method: str, told: bytes) -> Response:
    """The whole answer, with `told` among its headers. What is no HTTP is given as it is. Raises OSError."""
    upstream.settimeout(_ANSWER)
    data = b""
    while not (end := _END.search(data)) and (more := _some(upstream, data)):
        data = _INTERIM.sub(b"", data + more)
    if not end or not data.startswith(b"HTTP/"):
        return Response(data=data)
    head, body = data[: end.start()], data[end.end() :]
    line, _, fields = head.partition(b"\n")
    status = line.split(b" ")[1][:3]
    if status == b"101":
        return Response(data=data, switched=True)
    length = re.search(rb"(?im)^content-length:[ \t]*([0-9]+)", fields)
    none = method.upper() == "HEAD" or status in {b"204", b"304"}
    wanted = 0 if none else int(length[1]) if length else _MOST
    while len(body) < wanted and (more := _some(upstream, body)):
        body += more
    location = re.search(rb"(?im)^location:[ \t]*([^\r\n]+)", fields)
    fresh = line.rstrip() + b"\r\n" + told + fields + b"\r\n\r\n" + body
    if not length and not none:
        fresh = fresh.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
    moved = location[1].decode("latin-1") if location and status.startswith(b"3") else ""
    return Response(data=fresh, location=moved)


def _some(upstream: socket.socket, so_far: bytes) -> bytes:
    """What comes next; empty when that is all."""
    if len(so_far) >= _MOST:
        return b""
    with contextlib.suppress(TimeoutError):
        return upstream.recv(1 << 16)
    return b""
