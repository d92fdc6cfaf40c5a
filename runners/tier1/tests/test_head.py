"""One reading of a request's head, or none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.contract import Denial
from runners.tier1.head import MOST_BYTES, Head, measure, read_head
from runners.tier1.hosts import Malformed, Name


def _get(target: str = "http://a.test/x", *lines: str, host: str = "a.test") -> bytes:
    return "\r\n".join([f"GET {target} HTTP/1.1", f"Host: {host}", *lines, "", ""]).encode("latin-1")


@pytest.mark.parametrize(
    ("raw", "host", "port", "path"),
    [
        (b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n", "a.test", 443, ""),
        (b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n", "a.test", 443, ""),
        (b"CONNECT a.test:8443 HTTP/1.0\r\n\r\n", "a.test", 8443, ""),  # as urllib asks
        (b"CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\r\n", "[::1]", 443, ""),
        (_get("http://A.Test./x?y"), "a.test", 80, "/x?y"),
        (_get("HTTP://a.test:80", host="a.test:80"), "a.test", 80, "/"),
        (_get("http://a.test:8080?q=@", host="A.test.:8080"), "a.test", 8080, "/?q=@"),
        (b"OPTIONS http://a.test HTTP/1.1\r\nHost: a.test\r\n\r\n", "a.test", 80, "*"),
    ],
)
def test_one_reading(raw: bytes, host: str, port: int, path: str) -> None:
    head = read_head(raw)
    assert isinstance(head, Head)
    assert (str(head.host), head.port, head.path) == (host, port, path)


MALFORMED = {
    "origin form": b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
    "https to the proxy": _get("https://a.test/"),
    "another scheme": _get("ftp://a.test/"),
    "user": _get("http://a.test:80@10.11.12.13/"),
    "user in CONNECT": b"CONNECT a.test@10.11.12.13:443 HTTP/1.1\r\nHost: a.test\r\n\r\n",
    "backslash": _get("http://10.11.12.13\\@a.test/"),
    "fragment": _get("http://a.test#@b.test/"),
    "no host": _get("http:///x"),
    "no port": b"CONNECT a.test HTTP/1.1\r\nHost: a.test\r\n\r\n",
    "port of two kinds": b"CONNECT a.test:443:80 HTTP/1.1\r\nHost: a.test\r\n\r\n",
    "port above all": b"CONNECT a.test:65979 HTTP/1.1\r\nHost: a.test\r\n\r\n",
    "preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\n",
    "HTTP/0.9": b"GET http://a.test/\r\n\r\n",
    "two hosts": _get("http://a.test/", "Host: a.test"),
    "no Host header": b"GET http://a.test/ HTTP/1.1\r\n\r\n",
    "two framings": _get("http://a.test/", "Content-Length: 4", "Transfer-Encoding: chunked"),
    "two lengths": _get("http://a.test/", "Content-Length: 4", "Content-Length: 5"),
    "another coding": _get("http://a.test/", "Transfer-Encoding: gzip, chunked"),
    "coding in HTTP/1.0": b"POST http://a.test/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
    "CONNECT with a body": b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\n",
    "space before colon": _get("http://a.test/", "X : y"),
    "folded line": _get("http://a.test/", "X: y", " z"),
    "folded first line": b"GET http://a.test/ HTTP/1.1\r\n Host: a.test\r\n\r\n",
    "bare LF": b"CONNECT a.test:443 HTTP/1.1\nHost: a.test\n\n",
    "bare LF inside": _get("http://a.test/", "X: y\nHost: b.test"),
    "bare CR": _get("http://a.test/", "X: y\rHost: b.test"),
    "NUL": _get("http://a.test/", "X: y\0"),
    "escape": b"CONNECT a\x1b[2Jb.test:443 HTTP/1.1\r\nHost: x\r\n\r\n",
    "blank in the target": b"GET http://a.test/ x HTTP/1.1\r\nHost: a.test\r\n\r\n",
    "not ASCII": "CONNECT ä.test:443 HTTP/1.1\r\nHost: x\r\n\r\n".encode(),
    "101 headers": _get("http://a.test/", *(f"X-{each}: y" for each in range(100))),
    "too long": _get("http://a.test/" + "x" * MOST_BYTES),
    "empty line first": b"\r\n" + _get(),
    "SOCKS5": b"\x05\x01\x00",
    "SSH": b"SSH-2.0-x\r\n",
}


@pytest.mark.parametrize("raw", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed(raw: bytes) -> None:
    denial = read_head(raw)
    assert isinstance(denial, Denial)
    assert (denial.kind, denial.remedy) == ("malformed", ())
    assert denial.host.isprintable()


@pytest.mark.parametrize("host", ["b.test", "a.test:8080", "", "a.test@b.test", "a.test, b.test"])
def test_another_host_header_is_a_mismatch(host: str) -> None:
    denial = read_head(_get(host=host))
    assert isinstance(denial, Denial)
    assert (denial.kind, denial.host, denial.port) == ("mismatch", "a.test", 80)


def test_what_can_be_no_head_is_said_before_its_end() -> None:
    for begun in (
        b"\x16\x03\x01",
        b"\x04\x01",
        b"GET x\r\n",
        b"CONNECT a:1 HTTP/1.1\r\nX: \x00",
        b"y" * 70000,
    ):
        assert isinstance(measure(begun), Malformed)
    assert measure(b"CONNECT a:1 HTTP/1.1\r\nHos") == 0
    assert measure(_get() + b"body\0\n") == len(_get())


PIECES = st.sampled_from(
    b"GET |CONNECT |http://|a.test|10.0.0.1|:443|/|\r\n|\n|\r| |\0| HTTP/1.1\r\n|Host: |Content-Length: 3|"
    b"Transfer-Encoding: chunked|@|\\|\r\n\r\n".split(b"|")
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.binary(max_size=200), st.lists(PIECES, max_size=14).map(b"".join)))
def test_whatever_comes_has_one_reading_or_none(raw: bytes) -> None:
    read = read_head(raw)
    assert isinstance(read, Head | Denial)
    if isinstance(read, Head) and isinstance(read.host, Name):
        assert read.host.text.encode() in raw.lower()
        assert raw.count(b"\r\n\r\n") == 1


@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES, max_size=14).map(b"".join), st.lists(st.integers(0, 200), max_size=5))
def test_segments_make_no_difference(raw: bytes, cuts: list[int]) -> None:
    whole, seen, found = measure(raw), 0, 0
    for cut in sorted({*(each for each in cuts if each < len(raw)), len(raw)}):
        found = measure(raw[:cut], seen)
        if found:
            break
        seen = cut
    assert type(found) is type(whole)
    assert isinstance(whole, Malformed) or found == whole
