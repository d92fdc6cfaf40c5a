"""What the servers say: one answer that proves the arrival, in the words of whoever asks.

HTTP is answered on every path, web sockets, git's smart protocol and the indexes of pip and npm far
enough for a real client to be content, and anything else by one line. The answer names the address
and port that were dialled and holds a token that only the harness knows.

Sources: RFC 9112, RFC 6455 1.3 and 5.5.1, gitprotocol-http(5), PEP 503 and 440, npm's registry API.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from matrix.internet.wire import Wire

MOST = 4 * 1024 * 1024
"""Bytes of a request's head at most."""

_REQUEST = re.compile(rb"[!-~]+ [^\n]*HTTP/[0-9.]+\r?\n")
_END = re.compile(rb"\r?\n\r?\n")
_KEY = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455 1.3
_CLOSE = 8  # the opcode of a web socket's closing frame
_COMMIT = "0" * 39 + "1"


@dataclass(frozen=True, kw_only=True)
class Page:
    """What one server of one row answers."""

    arrived: str  # the line that proves the arrival
    serves: Mapping[str, str] = field(default_factory=dict[str, str])  # path → "302 URL", or "STATUS TEXT"


def converse(wire: Wire, page: Page) -> None:
    """Answer until the client ends or asks for the end. Raises OSError when it breaks off."""
    rest = b""
    while True:
        while not (end := _END.search(rest)) and len(rest) < MOST:
            if rest and not _may_be_http(rest):
                wire.send(page.arrived.encode() + b"\r\n")
                return _drain(wire)
            if not (data := wire.receive()):
                return None
            rest = (rest + data).lstrip(b"\r\n")
        if not end or not _may_be_http(rest):
            wire.send(page.arrived.encode() + b"\r\n")
            return _drain(wire)
        head, rest = rest[: end.start()], rest[end.end() :]
        request = _read(head)
        if request.fields.get("upgrade", "").lower() == "websocket":
            return _socket(wire, request, page)
        rest = _body(wire, request, rest)
        wire.send(answer(request, page))
        if not request.again:
            return None


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request's head."""

    method: str
    target: str
    fields: Mapping[str, str]  # names in lower case
    again: bool  # whether another may follow


def answer(request: Request, page: Page) -> bytes:
    """The whole response to one request."""
    path = request.target.partition("?")[0]
    path = "/" + path.split("/", 3)[3] if path.count("/") > 2 and "://" in path else path  # noqa: PLR2004
    status, fields, body = "200 OK", {"Content-Type": "text/plain"}, page.arrived.encode() + b"\n"
    if said := page.serves.get(path, ""):
        status, _, rest = said.partition(" ")
        if status.startswith("3"):
            fields["Location"] = rest
        else:
            body = rest.encode() + b"\n" + body
        status += " As Asked"
    elif path.endswith("/info/refs") and "service=git-upload-pack" in request.target:
        fields["Content-Type"] = "application/x-git-upload-pack-advertisement"
        body = _references(page)
    elif path.endswith("/canary"):
        fields["Content-Type"], body = "application/json", _package(page)
    elif path.endswith("/canary/"):
        fields["Content-Type"], body = "text/html", _index(page)
    fields |= {"Content-Length": str(len(body)), "Connection": "keep-alive" if request.again else "close"}
    head = f"HTTP/1.1 {status}\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return head.encode() + b"\r\n" + (b"" if request.method == "HEAD" else body)


def _may_be_http(begun: bytes) -> bool:
    """Whether what has come so far is, or may still become, an HTTP request."""
    line, newline, _ = begun.partition(b"\n")
    return bool(_REQUEST.match(begun)) if newline else b"\x00" not in line and line[:4] != b"SSH-"


def _read(head: bytes) -> Request:
    first, *lines = head.decode("latin-1").replace("\r", "").split("\n")
    method, _, rest = first.partition(" ")
    target, _, version = rest.rpartition(" ")
    pairs = (line.partition(":") for line in lines)
    fields = {name.strip().lower(): value.strip() for name, _, value in pairs}
    wish = fields.get("connection", "").lower()
    again = "close" not in wish and (version != "HTTP/1.0" or "keep-alive" in wish)
    return Request(method=method, target=target, fields=fields, again=again)


def _body(wire: Wire, request: Request, rest: bytes) -> bytes:
    """Take the request's body in; gives what follows it."""
    if request.fields.get("expect", "").lower() == "100-continue":
        wire.send(b"HTTP/1.1 100 Continue\r\n\r\n")
    if "chunked" in request.fields.get("transfer-encoding", "").lower():
        while (end := rest.find(b"0\r\n\r\n")) < 0 and (data := wire.receive()):
            rest += data
        return rest[end + 5 :] if end >= 0 else b""
    length = request.fields.get("content-length", "0")
    count = min(int(length), MOST) if length.isdecimal() else 0
    while len(rest) < count and (data := wire.receive()):
        rest += data
    return rest[count:]


def _socket(wire: Wire, request: Request, page: Page) -> None:
    """Agree to a web socket, send the proof as one text frame, and close when the client does."""
    key = request.fields.get("sec-websocket-key", "").encode()
    accept = base64.b64encode(hashlib.sha1(key + _KEY, usedforsecurity=False).digest())
    wire.send(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n"
    )
    text = page.arrived.encode()
    wire.send(bytes((0x81, len(text))) + text)
    while data := wire.receive():
        if data[0] & 0xF == _CLOSE:
            wire.send(bytes((0x80 | _CLOSE, 0)))
            return


def _references(page: Page) -> bytes:
    """A repository with one branch that is named after the proof, as git asks for it first."""
    branch = "refs/heads/" + re.sub(r"[^0-9A-Za-z.]+", "-", page.arrived)
    lines = ("# service=git-upload-pack\n", "", f"{_COMMIT} {branch}\0agent=git/2.0\n", "")
    return "".join(f"{len(line) + 4:04x}{line}" if line else "0000" for line in lines).encode()


def _package(page: Page) -> bytes:
    """A package whose description is the proof, as npm asks for it."""
    about = {"name": "canary", "description": page.arrived}
    versions = {"1.0.0": {**about, "version": "1.0.0", "dist": {"tarball": ""}}}
    return json.dumps({**about, "dist-tags": {"latest": "1.0.0"}, "versions": versions}).encode()


def _index(page: Page) -> bytes:
    """A package with one version, which has the proof for its local label, as pip asks for it."""
    file = f"canary-1.0+{re.sub('[^0-9A-Za-z]+', '.', page.arrived)}.tar.gz"
    return (
        f'<!DOCTYPE html><html><body><a href="{file.replace("+", "%2B")}">{file}</a></body></html>'.encode()
    )


def _drain(wire: Wire) -> None:
    """Take in whatever else comes."""
    while wire.receive():
        pass
