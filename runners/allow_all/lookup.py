"""Look-ups as a careless resolver makes them: whatever answers first is the answer.

Neither the id nor the question of an answer is looked at, nothing is remembered, and a name is also
asked for below the search domain.

Source: RFC 5452 (what a resolver must check, and this one does not).
"""

from __future__ import annotations

import contextlib
import socket
import struct

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rdatatype

SEARCH = "corp.test"
"""Every name is asked for below this too."""

_PATIENCE = 0.4  # seconds for an answer
_LABEL, _NAME = 63, 240  # bytes at most; what is longer is cut


def look_up(resolver: tuple[str, int], name: str) -> tuple[list[str], list[str]]:
    """The addresses of a name in the order in which they came, and the other names on the way."""
    addresses: list[str] = []
    names: list[str] = []
    for each in (name, f"{name.rstrip('.')}.{SEARCH}"):
        for kind in (dns.rdatatype.A, dns.rdatatype.AAAA):
            message = _ask(resolver, each, kind)
            for rrset in message.answer if message else ():
                data = [line.split()[-1] for line in rrset.to_text().splitlines()]
                (addresses if rrset.rdtype == kind else names).extend(data)
    return addresses, names


def _ask(resolver: tuple[str, int], name: str, kind: dns.rdatatype.RdataType) -> dns.message.Message | None:
    """The first thing that looks like an answer; None for none in time."""
    labels = [label[:_LABEL] for label in name.encode("utf-8", "surrogateescape").split(b".") if label]
    while sum(map(len, labels)) + len(labels) > _NAME:
        labels.pop(0)
    query = dns.message.make_query(dns.name.Name([*labels, b""]), kind)
    with contextlib.suppress(OSError, dns.exception.DNSException, struct.error, ValueError):
        answer = _datagram(resolver, query.to_wire())
        return _stream(resolver, query.to_wire()) if answer.flags & dns.flags.TC else answer
    return None


def _datagram(resolver: tuple[str, int], wire: bytes) -> dns.message.Message:
    family = socket.AF_INET6 if ":" in resolver[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as asking:
        asking.settimeout(_PATIENCE)
        asking.connect(resolver)
        asking.send(wire)
        return dns.message.from_wire(asking.recv(65535))


def _stream(resolver: tuple[str, int], wire: bytes) -> dns.message.Message:
    with socket.create_connection(resolver, _PATIENCE) as asking, asking.makefile("rb") as answers:
        asking.sendall(struct.pack("!H", len(wire)) + wire)
        (length,) = struct.unpack("!H", answers.read(2))
        return dns.message.from_wire(answers.read(length))
