"""Reading requests so that as much as possible is one.

Lines may end in any way, headers may be folded, there may be thousands of them. Where it is not clear
how long a body is, there is none, and what stands in it is the next request.

Source: RFC 9112 2.2, 5.2, 6.3 and 11.2, each of which this breaks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from runners.allow_all.spelling import authority, ports

MOST = 4 * 1024 * 1024
"""Bytes of a head at most."""

SCHEMES = {"https": 443, "wss": 443}
"""Ports of the schemes that do not have 80."""

_END = re.compile(rb"\r?\n\r?\n")
_CHUNKS_END = b"0\r\n\r\n"
_LINE = re.compile(rb"(?m)^[^\s:]+[ \t]+[^\n]*\n")
_FOLD = re.compile(r"\n[ \t]+")


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a client wants."""

    method: str
    target: str
    version: str
    head: bytes  # everything behind the first line, as it came, without the empty line
    fields: Sequence[tuple[str, str]] = ()  # the headers as read; names in lower case
    body: bytes = b""

    def values(self, name: str) -> list[str]:
        """Every value of a header."""
        return [value for each, value in self.fields if each == name]

    @property
    def unclear(self) -> bool:
        """Whether the length of the body is said twice, in two ways, or oddly."""
        said = self._said()
        return bool(said) and not (len(said) == 1 and (said[0] == "chunked" or said[0].isdecimal()))

    def _said(self) -> list[str]:
        return [*self.values("content-length"), *self.values("transfer-encoding")]

    def length(self, rest: bytes) -> int:
        """How many bytes of what follows are the body; none where that is unclear."""
        said = self._said()
        if said == ["chunked"]:
            return end + len(_CHUNKS_END) if (end := rest.find(_CHUNKS_END)) >= 0 else len(rest) + 1
        return min(int(said[0]), MOST) if said and not self.unclear else 0

    @property
    def tunnel(self) -> bool:
        """Whether bytes are to be carried both ways, whatever they are."""
        return self.method.upper() == "CONNECT"

    @property
    def secure(self) -> bool:
        """Whether the proxy itself is to speak TLS."""
        return self.target.lower().startswith(("https:", "wss:"))

    @property
    def path(self) -> str:
        """What is asked of the upstream."""
        scheme, there, rest = self.target.partition("://")
        if not there or not scheme.isalnum():
            return self.target
        slash = re.search(r"[/?#]", rest)
        return "/" + rest[slash.start() :].lstrip("/") if slash else "/"

    def wire(self) -> bytes:
        """What goes to the upstream: every header as it came."""
        line = f"{self.method} {self.path} {self.version}\r\n".encode("utf-8", "surrogateescape")
        return line + self.head + b"\r\n\r\n" + self.body

    def calls(self) -> list[tuple[str, tuple[int, ...]]]:
        """Every host that the request names, with the ports that may be meant; the target last."""
        if self.tunnel:
            return [_call(self.target, 443)]
        scheme, there, rest = self.target.partition("://")
        default = SCHEMES.get(scheme.lower(), 80)
        named = [_call(value, default) for value in self.values("host") if value]
        if there:
            named.append(_call(re.split(r"[/?#]", rest)[0], default))
        elif not self.target.startswith(("/", "*")):
            named.append(_call(self.target.partition("/")[0], default))
        return named


def read(data: bytes) -> tuple[Request | None, bytes]:
    """The first request in what has come, and what follows it; None where more must come.

    What stands before a line that could be a request's first is left out.
    """
    if not (end := _END.search(data)):
        return None, data
    first = _LINE.search(data)
    if first and first.start() > end.start():
        return read(data[first.start() :])
    head, rest = data[first.start() if first else 0 : end.start()], data[end.end() :]
    line, _, fields = head.partition(b"\n")
    method, *parts = _text(line).split() or [""]
    version = parts.pop() if parts and parts[-1].upper().startswith("HTTP/") else "HTTP/1.1"
    target, said = " ".join(parts), _fields(_text(fields))
    request = Request(method=method, target=target, version=version, head=fields, fields=said)
    count = request.length(rest)
    if count > len(rest):
        return None, data
    return replace(request, body=rest[:count]), rest[count:]


def redirected(request: Request, location: str) -> Request:
    """The same request to where a redirect points."""
    if "://" not in location:
        base = urlsplit(request.target)
        location = f"{base.scheme or 'http'}://{base.netloc}{location}"
    host = ("host", re.split(r"[/?#]", location.partition("://")[2])[0])
    fields = [host, *(each for each in request.fields if each[0] != "host")]
    head = "".join(f"{name}: {value}\r\n" for name, value in fields).encode("utf-8", "surrogateescape")
    return Request(method="GET", target=location, version="HTTP/1.1", head=head[:-2], fields=fields)


def _call(text: str, default: int) -> tuple[str, tuple[int, ...]]:
    host, port = authority(text)
    return host, ports(port, default)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _fields(text: str) -> list[tuple[str, str]]:
    lines = _FOLD.sub(" ", text.replace("\r", "")).split("\n")
    pairs = (line.partition(":") for line in lines)
    return [(name.strip().lower(), value.strip()) for name, _, value in pairs]
