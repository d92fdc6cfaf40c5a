"""Every host and port that somebody has ever read out of a text.

Each way of reading is one that a real client, library or proxy has; a careful proxy has none of them.
All are taken at once, so that whichever a row is about is among them.

Sources: inet_aton(3), the WHATWG URL standard (host parsing), RFC 3986 3.2, RFC 4007 11, RFC 3490,
Unicode Standard Annex 15.
"""

from __future__ import annotations

import contextlib
import re
import socket
import unicodedata
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import unquote

import idna

_MOST = 24
"""Readings of one host at most."""

_CARRIERS = tuple(
    map(IPv6Network, ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48"))
)
"""What ends in an IPv4 address: RFC 4291 2.5.5, RFC 2765 2.1, RFC 6052 2.1, RFC 8215."""

_STOPS = str.maketrans("\u3002\uff0e\uff61", "...")


def hosts(text: str) -> tuple[str, ...]:
    """Names and addresses that a host may mean, addresses in canonical spelling; the plainest first."""
    readings = [text]
    for reading in readings:
        for read in _READERS:
            fresh = [new for new in read(reading) if new and new not in readings]
            readings += fresh[: _MOST - len(readings)]
    found = [address(reading) or reading for reading in readings]
    return tuple(dict.fromkeys(host for host in found if host.strip(".")))


def ports(text: str, default: int) -> tuple[int, ...]:
    """Ports that a text may mean: in part, with a sign, by name, in hexadecimal, more than 16 bits long."""
    text = unicodedata.normalize("NFKC", text).strip().replace("_", "")
    found: list[int] = []
    for part in (text.split(":")[0], text.split(":")[-1]):
        if number := re.match(r"[+-]?0x([0-9a-fA-F]+)", part):
            found.append(int(number[1], 16))
        elif number := re.search(r"[0-9]+", part):
            found.append(int(number[0]))
        elif part:
            with contextlib.suppress(OSError):
                found.append(socket.getservbyname(part.lower(), "tcp"))
    return tuple(dict.fromkeys(port % 65536 or default for port in found)) or (default,)


def authority(text: str) -> tuple[str, str]:
    """What may be the host and what the port, as text."""
    head, bracket, tail = text.rpartition("]")
    if bracket:
        return head + bracket, tail.removeprefix(":")
    user, at, rest = text.rpartition("@")
    bare = rest.count(":") > 2  # noqa: PLR2004 - an IPv6 address without brackets has more than two ports would
    host, _, port = rest.rpartition(":") if bare else rest.partition(":")
    return user + at + host, port


def address(text: str) -> str:
    """The address that a text is, as inet_aton(3) takes it too; empty where it is none."""
    with contextlib.suppress(ValueError):
        return str(ip_address(text)) if "%" not in text else ""
    if text.isdecimal() and int(text) >= 2**32:
        return str(IPv4Address(int(text) % 2**32))
    with contextlib.suppress(OSError, UnicodeError, ValueError):
        if re.fullmatch(r"[0-9a-fA-FxX.]+", text):
            return socket.inet_ntoa(socket.inet_aton(text))
    return ""


def carried(address: str) -> tuple[str, ...]:
    """The IPv4 addresses that a network which translates may take an IPv6 address for."""
    found = ip_address(address)
    if not isinstance(found, IPv6Address) or found.is_loopback or found.is_unspecified:
        return ()
    isatap = found.packed[8:12] in {b"\0\0\x5e\xfe", b"\2\0\x5e\xfe"}
    inside = [IPv4Address(found.packed[-4:])] if isatap or any(found in each for each in _CARRIERS) else []
    inside += [found.sixtofour] if found.sixtofour else []
    inside += found.teredo or ()
    return tuple(map(str, inside))


def _without_user(text: str) -> Iterator[str]:
    yield text.rpartition("@")[2]
    yield text.partition("@")[0].partition(":")[0]


def _before(mark: str) -> Callable[[str], Iterator[str]]:
    def cut(text: str) -> Iterator[str]:
        yield text.partition(mark)[0]

    return cut


def _folded(text: str) -> Iterator[str]:
    yield unicodedata.normalize("NFKC", text.translate(_STOPS)).lower()


def _decoded(text: str) -> Iterator[str]:
    with contextlib.suppress(UnicodeError):
        yield unquote(text, errors="strict")


def _latin(text: str) -> Iterator[str]:
    """Bytes that were read one by one are often UTF-8, and what is no UTF-8 is often Latin-1."""
    with contextlib.suppress(UnicodeError):
        yield text.encode("latin-1").decode()
    with contextlib.suppress(UnicodeError):
        yield text.encode("utf-8", "surrogateescape").decode("latin-1")


def _plain(text: str) -> Iterator[str]:
    yield re.sub(r"[\x00-\x20\x7f]", "", text)
    yield text.strip("[]")
    yield text.strip(".")


def _ascii(text: str) -> Iterator[str]:
    """The names in ASCII by the old standard and the new one."""
    if not text.isascii():
        with contextlib.suppress(UnicodeError):
            yield text.encode("idna").decode()
        with contextlib.suppress(UnicodeError):
            yield idna.encode(text, uts46=True).decode()


_READERS: tuple[Callable[[str], Iterator[str]], ...] = (
    _without_user,
    _before("\\"),
    _before("\0"),
    _before("%"),
    _before(","),
    _before(" "),
    _latin,
    _folded,
    _decoded,
    _plain,
    _ascii,
)
