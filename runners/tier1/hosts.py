"""The host of a request, as it stands on the wire: a name, an address, or nothing that may be resolved.

One spelling counts for everything that follows. What a resolver or a socket might read in another way
than we do, `0x7f.1` for one, is malformed and goes to neither.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from runners.tier1.addresses import Address

MOST_NAME = 253  # characters of a whole name, RFC 1035 3.1 without the root
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
MOST_PORT = 65535


@dataclass(frozen=True)
class Name:
    """A DNS name: lower case, A-labels, no dot at the end."""

    text: str

    def __str__(self) -> str:
        """As an entry has it."""
        return self.text


@dataclass(frozen=True)
class Literal:
    """An address that was asked for itself."""

    address: Address

    def __str__(self) -> str:
        """As an entry has it: IPv6 in brackets."""
        return f"[{self.address}]" if self.address.version == 6 else str(self.address)  # noqa: PLR2004


@dataclass(frozen=True)
class Malformed:
    """Nothing that may be resolved or dialled; `why` holds nothing of what was asked."""

    why: str


Host = Name | Literal


def wire(raw: bytes) -> str:
    """What came from the wire as text, one character a byte: none is lost, and none but ASCII is a host's."""
    return raw.decode("latin-1")


def read_host(text: str) -> Host | Malformed:
    """The host alone, IPv6 in brackets. Upper case and one dot at the end are folded, U-labels refused."""
    if not text:
        return Malformed("no host")
    if len(text) > MOST_NAME + 1:
        return Malformed(f"a host of more than {MOST_NAME} characters")
    if not text.isascii():
        return Malformed("the host is not ASCII")
    if text.startswith("["):
        return _bracketed(text)
    folded = text.lower()
    labels = folded.removesuffix(".").split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _dotted(folded)
    return _name(labels)


def read_authority(text: str, default_port: int | None) -> tuple[Host, int] | Malformed:
    """Host and port of `host:port`. `default_port` is the one where none is written, None: it must be."""
    host_text, colon, port_text = _split(text)
    host = read_host(host_text)
    if isinstance(host, Malformed):
        return host
    if not colon:
        return Malformed("no port") if default_port is None else (host, default_port)
    port = read_port(port_text)
    return port if isinstance(port, Malformed) else (host, port)


def read_port(text: str) -> int | Malformed:
    """A port from 1 to 65535 in decimal digits, the first no zero."""
    if not _PORT.fullmatch(text) or int(text) > MOST_PORT:
        return Malformed("the port is not a number from 1 to 65535")
    return int(text)


def _split(text: str) -> tuple[str, str, str]:
    if not text.startswith("["):
        return text.partition(":")
    inside, bracket, rest = text.partition("]")
    before, colon, port = rest.partition(":")
    return inside + bracket + before, colon, port


def _bracketed(text: str) -> Literal | Malformed:
    if not text.endswith("]"):
        return Malformed("brackets that do not hold the whole host")
    if "%" in text:
        return Malformed("an address with a zone")
    try:
        return Literal(IPv6Address(text[1:-1]))
    except AddressValueError:
        return Malformed("brackets that hold no IPv6 address")


def _dotted(text: str) -> Literal | Malformed:
    try:
        return Literal(IPv4Address(text))
    except AddressValueError:
        return Malformed("a number that is no IPv4 address in its plain form")


def _name(labels: list[str]) -> Name | Malformed:
    if not all(labels):
        return Malformed("a name with an empty label")
    if not all(_LABEL.fullmatch(label) for label in labels):
        return Malformed("a label that is not 1 to 63 letters, digits, hyphens and underscores")
    name = ".".join(labels)
    return Name(name) if len(name) <= MOST_NAME else Malformed(f"a host of more than {MOST_NAME} characters")
