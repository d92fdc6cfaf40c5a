"""The two lists of hosts: how an entry is written, what it covers, and what is wrong with one that is not.

    host[:port]      api.example.org     *.example.org:8443     10.1.2.3:*     [fd12::5]:443
    address/length   10.1.0.0/16         [fd12::]/48:8443       the tenant's list alone

A name is lower case, without a dot at its end; letters beyond ASCII are converted once, here. `*.x` covers
every name below x, and not x. Without a port 80 and 443 are covered, with `:*` all.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Literal as Word

import idna

from runners.tier1.addresses import AddressClass, classes, classify
from runners.tier1.hosts import MOST_NAME, MOST_PORT, Host, Literal, Malformed, Name, read_host, read_port
from runners.tier1.visible import visible

Which = Word["manifest", "tenant"]
WEB_PORTS: Collection[int] = (80, 443)
ALL_PORTS: Collection[int] = range(1, MOST_PORT + 1)
_LENGTH = re.compile(r"0|[1-9][0-9]{0,2}")


@dataclass(frozen=True)
class Below:
    """Every name below this one, at any depth."""

    name: str


@dataclass(frozen=True)
class Network:
    """Every address of a range, asked for as an address."""

    network: IPv4Network | IPv6Network


@dataclass(frozen=True)
class Entry:
    """One line of a list."""

    text: str  # as written
    host: Host | Below | Network
    ports: Collection[int]

    def covers(self, host: Host, port: int) -> bool:
        """Whether this host was meant. An address is never a name's, nor a name an address's."""
        if port not in self.ports:
            return False
        match self.host, host:
            case Below(name), Name(asked):
                return asked.endswith(f".{name}")
            case Network(network), Literal(address):
                return address in network
            case listed, _:
                return listed == host


@dataclass(frozen=True)
class Fault:
    """What is wrong with one entry."""

    entry: str  # as written, control characters written out
    why: str
    do: str
    which: Which

    def __str__(self) -> str:
        """As a person reads it."""
        where = "the manifest's egress" if self.which == "manifest" else "the tenant's list"
        return f"{where}, entry '{self.entry}': {self.why}; {self.do}"


class _WrongError(Exception):
    """Why an entry is none, and what to do."""


def parse_entry(text: str, which: Which) -> Entry | Fault:
    """The entry, or what is wrong with how it is written. Whether it may be there says `reach`."""
    try:
        _plain(text)
        host_text, port_text = _split(text)
        return Entry(text, _host(host_text, which), _ports(port_text))
    except _WrongError as wrong:
        why, do = wrong.args
        return Fault(visible(text), why, do, which)


def reach(entry: Entry, which: Which) -> Fault | None:
    """Why an entry that names an address opens nothing on this list, None where it names none or opens it."""
    found = _classes(entry.host)
    kinds = {each.kind for each in found}
    if kinds == {"special"}:
        why = f"{' and '.join(sorted(found))} addresses are never reached"
        return Fault(visible(entry.text), why, "take the entry away", which)
    if kinds == {"private"} and which == "manifest":
        do = "put it on the tenant's list"
        return Fault(visible(entry.text), "a manifest's own entries reach public addresses only", do, which)
    return None


def _classes(host: Host | Below | Network) -> frozenset[AddressClass]:
    match host:
        case Literal(address):
            return frozenset({classify(address)})
        case Network(network):
            return classes(network)
        case Name() | Below():
            return frozenset()  # its addresses are judged when it is called


def entry_text(host: Host, port: int) -> str:
    """The narrowest entry that covers this host at this port."""
    return str(host) if port in WEB_PORTS else f"{host}:{port}"


def places(host: Host, port: int) -> tuple[Which, ...]:
    """The lists on which an entry for this host would open it, as far as the host itself tells."""
    entry = Entry(entry_text(host, port), host, (port,))
    both: tuple[Which, ...] = ("manifest", "tenant")
    return tuple(which for which in both if reach(entry, which) is None)


def _plain(text: str) -> None:
    if not text:
        raise _WrongError("it is empty", "write a host, or take the entry away")
    if any(unicodedata.category(each)[0] in "CZ" for each in text):  # control, format, unknown; blanks
        raise _WrongError("it has a blank, control or invisible character", "write the host alone")
    if "://" in text:
        raise _WrongError("it has a scheme", "write the host alone, and a port as :8443")
    if any(each in text for each in "@?#\\%"):
        raise _WrongError("it is more than a host and a port", "write the host alone")


def _split(text: str) -> tuple[str, str]:
    """The host, with the length of a range, and the port's text with its colon, "" where there is none."""
    head, bracket, rest = text.rpartition("]")
    host, colon, port = rest.partition(":")
    if ":" in port:
        raise _WrongError("it has more than one colon", "write an IPv6 address in brackets: [fd12::5]:443")
    return head + bracket + host, colon + port


def _ports(text: str) -> Collection[int]:
    if not text:
        return WEB_PORTS
    if text == ":*":
        return ALL_PORTS
    port = read_port(text[1:])
    if isinstance(port, Malformed):
        raise _WrongError(port.why, "write the port as :8443, or :* for all")
    return (port,)


def _host(text: str, which: Which) -> Host | Below | Network:
    address, slash, length = text.partition("/")
    if slash:
        return _network(address, length, which)
    if text.startswith("*"):
        return _below(text)
    if "*" in text:
        raise _WrongError("a * that is not its first label", "write *.x for every name below x")
    return _one(text)


def _below(text: str) -> Below:
    star, _, name = text.partition(".")
    if star != "*" or "*" in name or "." not in name.removesuffix("."):
        raise _WrongError("a * needs a name of two labels or more behind it", "write *.example.org")
    match _one(name, "*."):
        case Name(below):
            return Below(below)
        case Literal():
            raise _WrongError("a * covers names, never addresses", "write the address alone")


def _one(text: str, before: str = "") -> Host:
    written = _ascii(text)
    host = read_host(written)
    if isinstance(host, Malformed):
        raise _WrongError(
            host.why, "write a DNS name, an IPv4 address as 192.0.2.1 or an IPv6 one in brackets"
        )
    if isinstance(host, Name) and host.text != written:
        raise _WrongError("it has upper case or a dot at its end", f"write it as {before}{host.text}")
    return host


def _ascii(text: str) -> str:
    """The name with its A-labels. A label that is not in the one normal form of its letters is none."""
    if text.isascii():
        return text
    if len(text) > MOST_NAME:
        raise _WrongError(f"a name of more than {MOST_NAME} characters", "write the host alone")
    try:
        return ".".join(each if each.isascii() else idna.alabel(each).decode() for each in text.split("."))
    except UnicodeError:  # idna's own errors are such ones
        raise _WrongError(
            "letters that no name has in this form", "write it in its A-label form, xn--…"
        ) from None


def _network(address: str, length: str, which: Which) -> Network:
    host = read_host(address)
    if not isinstance(host, Literal) or not _LENGTH.fullmatch(length):
        raise _WrongError(
            "it has a path, or is no range of addresses",
            "write a host alone, a range as 10.1.0.0/16 or [fd12::]/48",
        )
    if which == "manifest":
        raise _WrongError("a range is for the tenant's list alone", "write hosts, or ask the tenant's admin")
    if int(length) == 0:
        raise _WrongError("it covers every address there is", "write the networks that are meant")
    try:
        return Network(ip_network((host.address, int(length))))
    except ValueError:
        raise _WrongError("the length does not fit the address", _fitting(host, int(length))) from None


def _fitting(host: Literal, length: int) -> str:
    if length > host.address.max_prefixlen:
        return f"write a length up to {host.address.max_prefixlen}"
    network = ip_network((host.address, length), strict=False)
    return f"write it as {Literal(network.network_address)}/{length}"
