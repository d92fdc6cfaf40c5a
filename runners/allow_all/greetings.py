"""Other languages that a client may begin with: SOCKS 4 and 5, and HTTP/2 without asking first.

Each is spoken just far enough for one call to go out.

Sources: RFC 1928, SOCKS 4A (a protocol description by Y.-D. Lee), RFC 9113 3.4 and 4.1, RFC 7541 6.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from ipaddress import ip_address

from runners.allow_all.heads import Request

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
"""An empty frame of settings, which is how a server of HTTP/2 begins."""

_HEADERS = 1
_STATIC = {
    1: (":authority", ""),
    2: (":method", "GET"),
    3: (":method", "POST"),
    4: (":path", "/"),
    5: (":path", "/index.html"),
    6: (":scheme", "http"),
    7: (":scheme", "https"),
    38: ("host", ""),
}
"""The lines of RFC 7541's appendix A that a hand-made request needs."""

Take = Callable[[int], bytes]
"""Gives so many bytes of the client's. Raises EOFError where there are not so many."""


def socks4(take: Take, send: Callable[[bytes], None]) -> tuple[str, int]:
    """Whom a client of SOCKS 4 or 4A wants, behind the first byte; it is told that all is well."""
    _, port, address = struct.unpack("!BH4s", take(7))
    _until_nul(take)
    host = _until_nul(take) if address[:3] == b"\0\0\0" and address[3] else str(ip_address(address))
    send(b"\x00\x5a" + bytes(6))
    return host, port


def socks5(take: Take, send: Callable[[bytes], None]) -> tuple[str, int]:
    """Whom a client of SOCKS 5 wants, behind the first byte, whatever the command is."""
    take(take(1)[0])
    send(b"\x05\x00")
    kind = take(4)[3]
    if kind == 3:  # noqa: PLR2004 - RFC 1928 4: a name
        host = take(take(1)[0]).decode("utf-8", "surrogateescape")
    else:
        host = str(ip_address(take(4 if kind == 1 else 16)))
    (port,) = struct.unpack("!H", take(2))
    send(b"\x05\x00\x00\x01" + bytes(6))
    return host, port


def http2(take: Take) -> Request:
    """The first request of an HTTP/2 connection, behind the preface, as one of HTTP/1.1."""
    while True:
        high, low, kind, flags, _ = struct.unpack("!BHBBI", take(9))
        payload = take(high << 16 | low)
        if kind == _HEADERS:
            return _request(dict(_lines(payload, flags)))


def _request(lines: dict[str, str]) -> Request:
    host = lines.get(":authority") or lines.get("host", "")
    fields = [("host", host), *((name, value) for name, value in lines.items() if name[:1] != ":")]
    head = "".join(f"{name}: {value}\r\n" for name, value in fields)[:-2]
    target = host if (method := lines.get(":method", "GET")) == "CONNECT" else lines.get(":path", "/")
    return Request(method=method, target=target, version="HTTP/1.1", head=head.encode(), fields=fields)


def _lines(block: bytes, flags: int) -> Iterator[tuple[str, str]]:
    """The header lines of a block without Huffman coding and without the dynamic table."""
    if flags & 0x08:  # padded
        block = block[1 : len(block) - block[0]]
    rest = iter(block[5:] if flags & 0x20 else block)  # a priority comes first
    for byte in rest:
        if byte & 0x80:
            if (index := byte & 0x7F) in _STATIC:
                yield _STATIC[index]
            continue
        index = byte & (0x3F if byte & 0x40 else 0x0F)
        name = _STATIC[index][0] if index in _STATIC else _string(rest)
        yield name, _string(rest)


def _string(rest: Iterator[int]) -> str:
    count = next(rest, 0) & 0x7F
    return bytes(byte for byte, _ in zip(rest, range(count), strict=False)).decode("latin-1")


def _until_nul(take: Take) -> str:
    found = b""
    while (byte := take(1)) != b"\0":
        found += byte
    return found.decode("utf-8", "surrogateescape")
