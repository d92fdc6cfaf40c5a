"""The head of a request to the proxy: one reading of it, or none.

h11 parses; what it lets through and another server might read otherwise is refused here before: bare line
ends, folded lines, control characters, two framings, a size without end. Pure.

Sources: RFC 9110 7.2, RFC 9112 2.2, 3.2, 5.2, 6.3, 11.2; h11 0.16.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import h11

from runners.contract import Denial
from runners.tier1.hosts import Host, Malformed, read_authority, read_host, wire
from runners.tier1.judge import malformed, mismatch

MOST_BYTES = 1 << 16
"""Of a whole head."""
MOST_HEADERS = 100
HTTP_PORT = 80

_END = b"\r\n\r\n"
_LINE = re.compile(rb"[!#-'*+.^_`|~0-9A-Za-z-]+ [\x21-\x7e]+ HTTP/1\.[01]\r\n")
_UNFIT: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"), "a control character in the head"),
    (re.compile(rb"(?<!\r)\n|\r(?=[^\n])"), "a line end that is not CR LF"),
    (re.compile(rb"\n[ \t]"), "a folded header line"),
)
_SHOWN = 100  # characters of what cannot be read, for the record


@dataclass(frozen=True, kw_only=True)
class Head:
    """A request that has one reading."""

    method: str
    host: Host
    port: int
    path: str  # for the server that is asked; empty for a tunnel
    headers: tuple[tuple[bytes, bytes], ...]  # as they came
    raw: bytes  # the whole head, as it came

    @property
    def tunnel(self) -> bool:
        """Whether it asks for bytes to be passed on, not for a page."""
        return self.method == "CONNECT"

    def values(self, name: bytes) -> list[bytes]:
        """What the headers of that name, in lower case, say."""
        return [value for each, value in self.headers if each.lower() == name]


def measure(data: bytes | bytearray, seen: int = 0) -> int | Malformed:
    """The length of the head with which `data` begins, 0 while its end has not come.

    The first `seen` bytes have been looked at before. What can be no head is said at once, not at its end.
    """
    begin = max(0, seen - len(_END) + 1)
    end = data.find(_END, begin)
    known = 0 if end < 0 else end + len(_END)
    for unfit, why in _UNFIT:
        if unfit.search(data, begin, known or len(data)):
            return Malformed(why)
    if (known or len(data)) > MOST_BYTES:
        return Malformed(f"a head above {MOST_BYTES} bytes")
    first = data.find(b"\n", begin) + 1
    if first and data.find(b"\n", 0, first - 1) < 0 and not _LINE.fullmatch(data, 0, first):
        return Malformed("no request line of HTTP/1.0 or 1.1")
    return known


def read_head(raw: bytes) -> Head | Denial:
    """The request, or why it is refused before anything is asked: malformed, or two hosts in one request."""
    asked = _target(raw)
    size = measure(raw)
    if isinstance(size, Malformed):
        return malformed(asked, size.why)
    if not size or size != len(raw):
        return malformed(asked, "no end of the head")
    if raw.count(b"\r\n") - 2 > MOST_HEADERS:
        return malformed(asked, f"more than {MOST_HEADERS} headers")
    parser = h11.Connection(h11.SERVER, max_incomplete_event_size=MOST_BYTES)
    parser.receive_data(raw)
    try:
        request = parser.next_event()
    except h11.RemoteProtocolError as error:
        return malformed(asked, _plain(error))
    if not isinstance(request, h11.Request):
        return malformed(asked, "no request")
    return _request(request, raw)


def _request(request: h11.Request, raw: bytes) -> Head | Denial:
    method, target = wire(request.method), wire(request.target)
    found = _tunnel(target) if method == "CONNECT" else _absolute(target, method)
    if isinstance(found, Malformed):
        return malformed(_target(raw), found.why)
    (host, port), path = found
    headers = tuple((bytes(name), bytes(value)) for name, value in request.headers.raw_items())
    head = Head(method=method, host=host, port=port, path=path, headers=headers, raw=raw)
    if why := _framing(head):
        return malformed(str(host), why, port)
    return head if _same_host(head) else mismatch(host, port)


def _tunnel(target: str) -> tuple[tuple[Host, int], str] | Malformed:
    authority = read_authority(target, None)
    return authority if isinstance(authority, Malformed) else (authority, "")


def _absolute(target: str, method: str) -> tuple[tuple[Host, int], str] | Malformed:
    scheme, colon, rest = target.partition("://")
    if scheme.lower() == "https" and colon:
        return Malformed("https asked of the proxy itself; a client asks for it by CONNECT")
    if scheme.lower() != "http" or not colon:
        return Malformed("no http:// address; a request to a proxy names one")
    if "\\" in rest or "#" in rest:
        return Malformed("a backslash or # in the address")
    size = re.search(r"[/?]|$", rest)
    end = size.start() if size else len(rest)
    text, path = rest[:end], rest[end:]
    if "@" in text:
        return Malformed("a user in the address")
    authority = read_authority(text, HTTP_PORT)
    if isinstance(authority, Malformed):
        return authority
    if not path and method == "OPTIONS":
        return authority, "*"
    return authority, path if path.startswith("/") else f"/{path}"


def _framing(head: Head) -> str:
    """Why nobody could be sure where the body ends; empty where everybody is."""
    length, coding = head.values(b"content-length"), head.values(b"transfer-encoding")
    if length and coding:
        return "Content-Length and Transfer-Encoding at once"
    if coding and b" HTTP/1.0\r\n" in head.raw[: head.raw.index(b"\n") + 1]:
        return "Transfer-Encoding in HTTP/1.0"
    if head.tunnel and (coding or any(value.strip() != b"0" for value in length)):
        return "a CONNECT with a body"
    return ""


def _same_host(head: Head) -> bool:
    """Whether Host, if any, says what the request line says; in CONNECT it may leave the port out."""
    for value in head.values(b"host"):
        text = wire(value)
        if read_authority(text, HTTP_PORT) == (head.host, head.port):
            continue
        if not (head.tunnel and read_host(text) == head.host):
            return False
    return True


def _target(raw: bytes) -> str:
    """What was asked for, as far as there is a request line; else how the bytes begin."""
    line = wire(raw.split(b"\r\n", 1)[0][:MOST_BYTES])
    words = line.split(" ")
    return (words[1] if len(words) == 3 else line)[:_SHOWN]  # noqa: PLR2004 - method, target, version


def _plain(error: h11.RemoteProtocolError) -> str:
    """What h11 says, without what was sent."""
    return re.sub(r":? ?(bytearray\()?b['\"].*", "", str(error))[:_SHOWN]
