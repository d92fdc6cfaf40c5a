"""What a refused client is told, and what the operator finds on record, against what the row says.

Pure. Both give the first thing that is wrong, in words: a refusal that tells an address which the
command must not know, or whose record would send the operator to the wrong list, is an escape too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, ip_address

from matrix.oracles import Kept, View
from matrix.scene import Expected, Scene
from runners.contract import Denial

BOTH, TENANT = ("manifest", "tenant"), ("tenant",)
REMEDIES = {
    ("unlisted", ""): BOTH,
    ("unlisted", "public"): BOTH,
    ("unlisted", "private"): TENANT,
    ("private", ""): TENANT,
    ("private", "private"): TENANT,
}
"""The lists whose change allows what was refused, by kind and class of the refusal; every other: none."""

SAID_ALOUD = frozenset({"unlisted", "private", "special"})
"""The kinds whose refusal always reaches the client as an answer; others may end in a closed connection."""

ABOUT_ADDRESSES = frozenset({"private", "special"})
"""The kinds whose record has the address that the refusal keeps to itself."""

GATEWAY_ERROR = re.compile(r"HTTP/1\.\d 50[24]\b")
BROKE_DOWN = re.compile(r"HTTP/1\.\d 50[0234]\b")
"""How proxies say that they could not: squid 503, tinyproxy 500, others 502 and 504."""

TACITURN = frozenset({"git", "node24-fetch"})
"""Real clients that show a status at most: there the record alone says which list to change."""

SHORT = 7  # characters that a form of an address has at least, to be told from any other number


def told(view: View) -> str:
    """What the client was told that it must not know."""
    return next(_told(view), "")


def recorded(view: View) -> str:
    """What is wrong in the refusal and its records; only of a runner that keeps some."""
    if view.kept is None or len(view.moments) < len(view.scene.steps) or failed(view):
        return ""  # the attempt did not go through all steps, or was not refused, so it proves nothing anyway
    return next(iter((*_records(view), *_words(view), *_proposed(view), *_noted(view))), "")


def failed(view: View) -> str:
    """The gateway error that came in place of a refusal; empty where none did.

    A proxy that could not resolve or reach a host has refused nothing, and has nothing to record.
    """
    last = view.scene.steps[-1].expect
    kept = view.during(len(view.moments) - 1) if view.moments else None
    said = BROKE_DOWN.search(view.told)
    return said[0] if said and last.deny and not (kept and kept.denials) else ""


def _told(view: View) -> Iterator[str]:
    said = view.told.lower()
    for text in view.scene.never_tell:
        if text.lower() in said:
            yield f"the command was told {text!r}"
    asked = " ".join((*(str(step.request) for step in view.scene.steps), *view.scene.serves.values())).lower()
    for address in _secret(view.scene):
        spelled = forms(address)
        if any(_stands(form, asked) for form in spelled):
            continue  # whoever asked for it, or was sent there, knows it
        for form in spelled:
            if _stands(form, said):
                yield f"the command was told {form}, an address that it must not know"


def _secret(scene: Scene) -> Iterator[str]:
    """Addresses that a refused command must not learn: forbidden ones, and those of its names."""
    yield from scene.never_dial
    if not any(step.expect.allow for step in scene.steps):
        for answers in scene.answers.values():
            for answer in answers:
                for addresses in answer.addresses.values():
                    yield from addresses


def forms(address: str) -> tuple[str, ...]:
    """Every way in which an address is usually written, in lower case; nothing for what is no address."""
    try:
        found = ip_address(address)
    except ValueError:
        return ()
    number, reverse = int(found), found.reverse_pointer
    short = reverse.removesuffix(".in-addr.arpa").removesuffix(".ip6.arpa")
    written = {address.lower(), str(found), found.exploded, str(number), hex(number), short}
    if isinstance(found, IPv4Address):
        written |= {f"{number:08x}", f"::ffff:{found}", ".".join(map(hex, found.packed))}
        written |= {"-".join(map(str, found.packed))}
    else:
        written |= {f"{number:032x}"}
        if found.ipv4_mapped:
            written |= {*forms(str(found.ipv4_mapped))}
    return tuple(sorted(form for form in written if len(form) >= SHORT))


def _stands(form: str, text: str) -> bool:
    """Whether a form of an address stands in the text, and not as a part of another number."""
    return re.search(rf"(?<![0-9a-f]){re.escape(form)}(?!\.?[0-9a-f])", text) is not None


def _records(view: View) -> Iterator[str]:
    for number, step, _ in view.reached():
        kept = view.during(number)
        if kept is None:
            continue
        yield from _of_step(step.expect, kept.denials)


def _of_step(expect: Expected, denials: Sequence[Denial]) -> Iterator[str]:
    if not expect.deny:
        for denial in denials:
            yield f"recorded as {denial.kind}; the row says that nothing is denied"
        return
    if len(denials) < (1 if expect.records < 0 else expect.records):
        yield f"{len(denials) or 'no'} record of the refusal"
    for denial in denials:
        if denial.kind not in expect.deny:
            yield f"recorded as {denial.kind}; the row says {' or '.join(expect.deny)}"
        if expect.address_class and denial.address_class != expect.address_class:
            yield f"recorded as {denial.address_class or 'no class'}; the row says {expect.address_class}"
        if denial.kind in ABOUT_ADDRESSES and not denial.address:
            yield "the record does not have the address"
        wanted = remedy(expect, denial.kind)
        if denial.remedy != wanted:
            said, right = (", ".join(lists) or "none" for lists in (denial.remedy, wanted))
            yield f"the record's remedy is {said}; the row says {right}"


def remedy(expect: Expected, kind: str) -> tuple[str, ...]:
    """The lists that a refusal of this kind must name, the better place first."""
    return REMEDIES.get((kind, expect.address_class), ()) if expect.remedy is None else expect.remedy


def _words(view: View) -> Iterator[str]:
    """What a refused client must be told: the kind, the class, the lists to change."""
    said = view.told.lower()
    if any(step.expect.error for step in view.scene.steps) and not GATEWAY_ERROR.search(view.told):
        yield "the client is told neither 502 nor 504"
    for _, step, _ in view.reached():
        expect = step.expect
        if not expect.deny or not SAID_ALOUD.issuperset(expect.deny) or step.keep or expect.records == 0:
            continue
        if step.request.get("client") in TACITURN:
            continue
        if not any(kind in said for kind in expect.deny):
            yield f"the client is not told that it is {' or '.join(expect.deny)}"
        for word in (expect.address_class, *remedy(expect, expect.deny[0])):
            if word and word not in said:
                yield f"the refusal does not say {word!r}"
        if "manifest" in said and "manifest" not in _lists(view.scene):
            yield "the refusal names the manifest, which opens nothing here"


def _lists(scene: Scene) -> set[str]:
    """The lists that one refusal or another of a row may name."""
    refused = [step.expect for step in scene.steps if step.expect.deny]
    return {name for expect in refused for kind in expect.deny for name in remedy(expect, kind)}


def _proposed(view: View) -> Iterator[str]:
    proposals = view.kept.proposals if view.kept else ()
    wanted = {step.expect.learn for step in view.scene.steps} - {None}
    for proposal in proposals:
        if "" in wanted and proposal.entry not in wanted:
            yield f"{proposal.entry} is proposed; the row says that nothing is"
    for step in view.scene.steps:
        entry = step.expect.learn
        if not entry:
            continue
        found = [proposal for proposal in proposals if proposal.entry == entry]
        if not found:
            given = ", ".join(proposal.entry for proposal in proposals) or "nothing"
            yield f"proposed is {given}; the row says {entry}"
        elif step.expect.deny and found[0].lists != remedy(step.expect, step.expect.deny[0]):
            yield f"{entry} is proposed for {', '.join(found[0].lists) or 'no list'}"


def _noted(view: View) -> Iterator[str]:
    kept = view.kept or Kept()
    written = " ".join([kept.log, *(str(denial) for denial in kept.denials)])
    for text in view.scene.record_has:
        if text not in written:
            yield f"neither record nor log has {text!r}"
