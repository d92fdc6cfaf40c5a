"""What squid is told, and what it makes of it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from runners.contract import Egress
from runners.server import Site, Told
from runners.squid import Runner
from runners.tests.proxied import CHANGED, FRESH, LISTS, RENEWED, Call, found, played

SITE = Site(folder=Path("/run/p"), port=3128, secret="")
BOTH = Egress(
    manifest=("api.test", "*.wild.test:8443", "[2600::1]:*"),
    tenant=("wiki.test", "10.1.0.0/16:22", "10.2.3.4"),
)
LINE = re.compile(
    r"acl \w+ (dstdomain -n [-a-z0-9_.]+|dstdom_regex -n -i \^\S+(\\\.[-a-z0-9_]+)+\$"
    r"|dst( -n)? [0-9a-f:./]+|dst -n all|port [-0-9 ]+)|http_access (allow \w+ \w+( !\w+)*|deny all)"
)
"""What a line about lists may be."""


def told(egress: Egress, **options: object) -> list[str]:
    read = Runner(options).read(egress)
    assert isinstance(read, Told)
    return Runner(options).configuration(SITE, read)["squid.conf"].splitlines()


def about(lines: list[str], word: str) -> list[str]:
    return [line for line in lines if re.match(rf"(acl|http_access allow) {word}", line)]


def test_each_entry_is_two_lists_and_a_rule() -> None:
    lines = told(BOTH)
    assert about(lines, "manifest") == [
        "acl manifest0 dstdomain -n api.test",
        "acl manifest0ports port 80 443",
        "http_access allow manifest0 manifest0ports !special !private",
        r"acl manifest1 dstdom_regex -n -i ^([a-z0-9_]([-a-z0-9_]{0,61}[a-z0-9_])?\.)+wild\.test$",
        "acl manifest1ports port 8443",
        "http_access allow manifest1 manifest1ports !literal !special !private",
        "acl manifest2 dst -n 2600::1",
        "acl manifest2ports port 1-65535",
        "http_access allow manifest2 manifest2ports !special !private",
    ]
    assert about(lines, "tenant") == [
        "acl tenant0 dstdomain -n wiki.test",
        "acl tenant0ports port 80 443",
        "http_access allow tenant0 tenant0ports !special",
        "acl tenant1 dst -n 10.1.0.0/16",
        "acl tenant1ports port 22",
        "http_access allow tenant1 tenant1ports !special",
        "acl tenant2 dst -n 10.2.3.4",
        "acl tenant2ports port 80 443",
        "http_access allow tenant2 tenant2ports !special",
    ]
    assert lines[-1] == "http_access deny all"


def test_the_reach_is_told_as_addresses_or_not_at_all() -> None:
    lines = told(BOTH)
    for line in ("acl private dst 10.0.0.0/8", "acl special dst 127.0.0.0/8", "acl private dst fc00::/7"):
        assert line in lines
    assert not any("::ffff:0:0/96" in line for line in lines), "it would be read as every IPv4 address"
    bare = told(BOTH, addresses=False)
    assert not any("special" in line or "private" in line for line in bare)
    assert "http_access allow manifest0 manifest0ports" in bare


def test_every_line_about_lists_is_of_a_known_form() -> None:
    lines = [line for line in told(BOTH) if line.startswith(("acl", "http_access"))]
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    assert not LINE.fullmatch("acl manifest0 dstdomain -n api.test wiki.test")
    assert not LINE.fullmatch('acl manifest0 dstdomain -n "/etc/passwd"')


@pytest.mark.real
def test_squid_does_as_it_is_told() -> None:
    squid = found("squid")
    assert played(
        squid,
        LISTS,
        *FRESH,
        *CHANGED,
        *RENEWED,
    ) == [
        *("200 11.22.33.44", "200 11.22.33.44", "403"),
        *("403", "403", "403"),
        *("403", "403"),
        *("200 11.22.33.55", "403"),
        *("200 10.11.12.13", "403"),
    ]


@pytest.mark.real
def test_without_dst_it_asks_no_address() -> None:
    squid = found("squid", addresses=False)
    assert played(squid, LISTS, Call("wiki.corp.test:443"), Call("other.unlisted.test:443")) == [
        "200 10.11.12.13",
        "403",
    ]


@pytest.mark.real
def test_it_refuses_a_bad_file_before_it_is_told_of_it(tmp_path: Path) -> None:
    if not shutil.which("squid", path="/usr/sbin:/usr/bin"):
        pytest.skip("squid is not installed: apt-get install squid")
    (tmp_path / "squid.conf").write_text("http_port 127.0.0.1:3128\nhttp_access allow nobody\n")
    assert "nobody" in Runner({}).refuses(tmp_path)
    (tmp_path / "squid.conf").write_text("\n".join(told(BOTH)) + "\n")
    assert Runner({}).refuses(tmp_path) == ""
