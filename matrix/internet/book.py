"""What the DNS server knows: names, and what it says to each question in turn.

Pure: a query in, messages out. The answers to one name step for each type on its own, so that a
question for AAAA does not use up a step of A; the last one repeats.

Sources: RFC 1034 3.6.2 and 4.3.2, RFC 1035 4.1, RFC 6891 6.2.5.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address, ip_address

import dns.message
import dns.name
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.rrset
import idna

from matrix.internet.addresses import addresses, spell
from matrix.scene import Answer

_LABEL = 63
"""Bytes of a label at most; a longer one can only be asked for cut."""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What goes back for one query, in this order; nothing at all where the row wants silence."""

    forged: tuple[dns.message.Message, ...] = ()
    true: dns.message.Message | None = None


class Book:
    """The names of one row."""

    def __init__(self, answers: Mapping[str, Sequence[Answer]]) -> None:
        """The addresses in them are spelled out already, and in canonical spelling or not."""
        self._answers = {key: tuple(given) for name, given in answers.items() for key in _keys(name)}
        self._asked: dict[tuple[bytes, str], int] = {}

    def reply(self, query: dns.message.Message) -> Reply:
        """The answer to a query, as a recursive resolver gives it: with the whole chain of CNAMEs."""
        question = query.question[0]
        kind = dns.rdatatype.to_text(question.rdtype)
        true = dns.message.make_response(query, recursion_available=True)
        name, seen = question.name, set[bytes]()
        forged: tuple[dns.message.Message, ...] = ()
        while True:
            key = _key(name)
            if key in seen:  # a chain that bites its tail
                true.answer.clear()
                true.set_rcode(dns.rcode.SERVFAIL)
                break
            seen.add(key)
            answer = self._next(key, kind)
            if answer is None:
                true.set_rcode(dns.rcode.NXDOMAIN)
                break
            if answer.silent:
                return Reply()
            forged = forged or tuple(_forged(query, answer.forged, kind))
            true.set_rcode(dns.rcode.from_text(answer.rcode))
            if not answer.cname:
                _add(true, name, answer.ttl, kind, answer.addresses.get(kind, ()))
                break
            target = dns.name.from_text(answer.cname)
            _add(true, name, answer.ttl, "CNAME", (target.to_text(),))
            if kind == "CNAME":
                break
            name = target
        return Reply(forged=forged, true=true)

    def _next(self, key: bytes, kind: str) -> Answer | None:
        """The step that is due for a name and a type; None for a name that is not in the book."""
        steps = self._answers.get(key)
        if not steps:
            return None
        count = self._asked.get((key, kind), 0)
        self._asked[key, kind] = count + 1
        return steps[min(count, len(steps) - 1)]


def text(name: dns.name.Name) -> str:
    """A name as the log has it: lower case, no last dot, whatever its bytes are."""
    return _key(name).decode("utf-8", "backslashreplace")


def _add(
    message: dns.message.Message, owner: dns.name.Name, ttl: int, kind: str, data: Sequence[str]
) -> None:
    """Add records in their order; a set of several would be shuffled on its way out."""
    message.answer += [dns.rrset.from_text(owner, ttl, dns.rdataclass.IN, kind, each) for each in data]


def _forged(query: dns.message.Message, address: str, kind: str) -> Iterator[dns.message.Message]:
    """Answers that a resolver must not take: to another id, and to another question."""
    if not address or kind != ("A" if ip_address(address).version == 4 else "AAAA"):  # noqa: PLR2004
        return
    other_id = dns.message.make_response(query, recursion_available=True)
    other_id.id = query.id ^ 0x5555
    _add(other_id, query.question[0].name, 0, kind, (address,))
    yield other_id
    other_name = dns.message.make_response(query, recursion_available=True)
    name = dns.name.from_text("other.test")
    other_name.question = [dns.rrset.from_text(name, 0, dns.rdataclass.IN, kind)]
    _add(other_name, name, 0, kind, (address,))
    yield other_name


def _key(name: dns.name.Name) -> bytes:
    return b".".join(label.lower() for label in name.labels if label)


def _keys(name: str) -> set[bytes]:
    """How a name of a row can stand in a question: as it is, and in the ASCII forms of either standard.

    Dots at the ends and what is too long for a label cannot be asked for: the question lacks them.
    """
    plain = name.strip(".").lower()
    forms = {plain.encode()}
    if not plain.isascii():
        for encode in (lambda: plain.encode("idna"), lambda: idna.encode(plain, uts46=True)):
            with contextlib.suppress(UnicodeError):  # idna.IDNAError is one
                forms.add(encode())
    return {b".".join(label[:_LABEL] for label in form.split(b".")) for form in forms}


def spelled(answers: Mapping[str, Sequence[Answer]]) -> dict[str, list[Answer]]:
    """The answers of a row with every symbol replaced.

    Raises KeyError for an unknown symbol, and ValueError or DNSException for what no answer can hold.
    """
    return {name: [_spelled(answer) for answer in given] for name, given in answers.items()}


def _spelled(answer: Answer) -> Answer:
    dns.rcode.from_text(answer.rcode)
    dns.name.from_text(answer.cname)
    if forged := spell(answer.forged):
        ip_address(forged)
    return replace(
        answer,
        addresses={
            kind: tuple(_of_kind(kind, address) for word in words for address in addresses(word))
            for kind, words in answer.addresses.items()
        },
        forged=forged,
    )


def _of_kind(kind: str, address: str) -> str:
    return str(IPv4Address(address) if kind == "A" else IPv6Address(address))
