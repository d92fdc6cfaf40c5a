"""The form of the macOS profile, and openings known by name. Whether it holds, only a Mac can say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from runners.contract import Egress, Policy
from runners.tier1.seatbelt import profile

TOKEN = re.compile(r'\s+|;[^\n]*|"(?:\\.|[^"\\])*"|[()]|[^\s()";]+')
OPENINGS = {
    "(allow default)": "everything",
    "(with no-sandbox)": "a program without the sandbox",
    "lsopen": "launching by others",
    "appleevent-send": "launching by others",
    "job-creation": "launching by others",
    "com.apple.dnssd": "names resolve around the proxy",
    "mDNSResponder": "names resolve around the proxy",
    "(local ip": "every destination",
    '"*:': "every host",
    "(allow file-write*)": "every file",
    "(allow mach-lookup)": "every service",
    "(allow signal)": "every process",
    "kern.proc": "other processes' arguments",
    "/System/Volumes/Data": "the whole disk by its second name",
}
NEEDED = (
    '(literal "/")',
    '"/usr"',
    '"/System/Library"',
    '"/System/Cryptexes"',
    "process-fork",
    '"/dev/null"',
)


def policy(**more: object) -> Policy:
    workspace = Path("/Users/ann/work")
    return Policy(**{"workspace": workspace, "egress": Egress(), **more})


def faults(text: str) -> Iterator[str]:
    tokens = [token for token in TOKEN.findall(text) if not token.isspace() and not token.startswith(";")]
    if "".join(TOKEN.findall(text)) != text:
        yield "something is no token"
    depth = 0
    for token in tokens:
        depth += {"(": 1, ")": -1}.get(token, 0)
        if depth < 0:
            break
    if depth:
        yield "unbalanced"
    if tokens[:4] != ["(", "version", "1", ")"] or tokens.count("version") != 1:
        yield "not version 1, first and once"
    if text.count("default)") != 1 or "(deny default)" not in text:
        yield "no single default of denying"
    for token in tokens:
        if token.startswith('"/') and re.search(r'^"/(tmp|var|etc|home)\b|//|/\./|/\.\.|[^"]/"$', token):
            yield f"not as the kernel spells it: {token}"
        if len(token.encode()) > 1024:
            yield "a string that is not read"
    rules = "\n".join(line.partition(";")[0] for line in text.splitlines())
    yield from (f"{opening}: {what}" for opening, what in OPENINGS.items() if opening in rules)
    yield from (f"it would crash, not hold: {need} is missing" for need in NEEDED if need not in rules)


GUARDED = policy(
    hidden=(Path("/Users/ann/work/a/key"),),
    protected=(Path("/Users/ann/work/.git/hooks"),),
    shown=(Path("/opt/clients"),),
)


@pytest.mark.parametrize("asked", [policy(), policy(egress=None), GUARDED])
def test_its_form_is_right_and_no_known_opening_is_in_it(asked: Policy) -> None:
    assert [*faults(profile(asked, port=3128))] == []


@pytest.mark.parametrize(
    ("part", "instead"),
    [
        ("(deny default)", "(allow default)"),
        ("(version 1)\n", ""),
        ("(allow process-fork)", "(allow process-fork"),
        ('(remote ip "localhost:', '(remote ip "*:'),
        ("(remote ip", "(local ip"),
        ("(allow signal (target same-sandbox))", "(allow signal)"),
        ('"/private/etc/ssl"', '"/etc/ssl"'),
        ('(subpath "/System/Cryptexes") ', ""),
        ("libinfo", "libinfo com.apple.dnssd.service"),
    ],
)
def test_a_profile_with_a_fault_is_noticed(part: str, instead: str) -> None:
    text = profile(policy(), port=3128)
    assert part in text
    assert [*faults(text.replace(part, instead))] != []


def test_it_says_that_no_mac_has_shown_it() -> None:
    assert "No Mac has shown" in profile(policy(), port=3128).splitlines()[0]


def test_what_is_guarded_comes_after_what_is_granted() -> None:
    text = profile(GUARDED, port=3128)
    granted = text.index('(allow file-read* file-write* process-exec (subpath "/Users/ann/work"))')
    for rule in (
        '(deny file-write* (subpath "/Users/ann/work/.git/hooks"))',
        '(deny file-read* file-write* process-exec (subpath "/Users/ann/work/a/key"))',
        '(deny file-write-unlink (literal "/Users/ann/work/.git"))',
        '(deny file-write-unlink (literal "/Users/ann/work/a"))',
    ):
        assert text.index(rule) > granted


def test_without_egress_there_is_no_network() -> None:
    assert "network" not in profile(policy(egress=None), port=3128).partition("; no network")[0]
    assert '(allow network-outbound (remote ip "localhost:4000"))' in profile(policy(), port=4000)


@pytest.mark.parametrize(
    ("path", "said"),
    [("/tmp/w", '"/private/tmp/w"'), ('/w"x\\y', '"/w\\"x\\\\y"'), ("/var", '"/private/var"')],
)
def test_a_path_is_said_as_the_kernel_spells_it(path: str, said: str) -> None:
    assert said in profile(policy(workspace=Path(path)), port=1)


@pytest.mark.parametrize("path", ["relative", "/a/../b", "/line\nbreak", "/escape\x1b", "/" + "x" * 1100])
def test_a_path_that_cannot_be_said_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match=r"path|profile"):
        profile(policy(workspace=Path(path)), port=1)
