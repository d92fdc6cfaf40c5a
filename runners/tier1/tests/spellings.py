"""Hosts as they come on the wire: what is a name, what an address, and what others read in their own way."""

# ruff: noqa: RUF001 - letters that look like others are what is tested

from __future__ import annotations

LONG = ".".join(["a" * 63] * 3 + ["b" * 61])  # 253 characters
NAMES = {
    "api.allowed.test": "api.allowed.test",
    "API.Allowed.TEST": "api.allowed.test",
    "api.allowed.test.": "api.allowed.test",
    "localhost": "localhost",
    "a": "a",
    "_dmarc.a_b.test": "_dmarc.a_b.test",
    "xn--bcher-kva.test": "xn--bcher-kva.test",
    "XN--BCHER-KVA.TEST": "xn--bcher-kva.test",
    "1.2.3.4.test": "1.2.3.4.test",
    "0x7f.test": "0x7f.test",
    "127.0.0.1e": "127.0.0.1e",
    "1a.2b": "1a.2b",
    LONG: LONG,
    LONG + ".": LONG,
    "a" * 63 + ".test": "a" * 63 + ".test",
}
LITERALS = {
    "10.11.12.13": "10.11.12.13",
    "0.0.0.0": "0.0.0.0",
    "255.255.255.255": "255.255.255.255",
    "[fd12:3456:789a::5]": "fd12:3456:789a::5",
    "[FD12:3456:789A:0::5]": "fd12:3456:789a::5",
    "[::ffff:10.11.12.13]": "::ffff:10.11.12.13",
    "[::]": "::",
}
# fmt: off
MALFORMED = [
    "", ".", "..", ".api.allowed.test", "api..allowed.test", "api.allowed.test..", "..api",
    "168496141", "0x0a0b0c0d", "0X0A0B0C0D", "012.013.014.015", "0x0a.0x0b.0x0c.0x0d", "10.723981",
    "127.1", "10.11.12.13.", "10.11.12", "10.11.12.013", "10.11.12.13.14", "256.1.1.1", "1.2.3.0x4",
    "0", "0x", "0x.", "1.", "a.0x7f", "a.1", "example.09", "*.12.13", "4294967296", "1.2.3.-4",
    "10.11.12.+13", "1e2.1", "bücher.test", "ａｐｉ.allowed.test", "faß.test", "１０.11.12.13",
    "10。11。12。13", "apı.test", "api\xad.test", "\u212aelvin.test", "٣.test", "1.1.1.١", "[wiki.corp.test]",
    "[10.11.12.13]", "[]", "[", "]", "[::1", "::1]", "[[::1]]", "[::1]x", "x[::1]", "[v1.a]",
    "[::ffff:10.11.12.13%25x.allowed.test]", "[fe80::1%eth0]", "[fe80::1%]", "::1", "fd12::5",
    "[::1].", "[:::]", "[1::2::3]", "[ ::1]", "[::ffff:0x7f.0.0.1]", "[::ffff:127.0.0.01]",
    "[12345::]", "[１::]", "api.allowed.test\0.evil.test", "api.allowed.test\r\nX: y",
    "api allowed.test", " api.allowed.test", "a\t.test", "api.allowed.test%2eevil.test",
    "api%2eallowed.test", "user@api.test", "api.test/", "api.test?", "api.test#",
    "api.test\\@evil.test", "http://api.test", "*.allowed.test", "*", "a,b.test", "a;b", "a'b", '"a"',
    "a:b", "a+b", "-a.test", "a-.test", "-", "a.-", "a" * 64 + ".test", LONG + "c", LONG + "c.",
    "a." * 200, "a" * 1_000_000, "127.0.0.1\n", "a.test\n",
]
# fmt: on
"""Numbers that libc or a browser reads as an address; letters and digits that are not ASCII; brackets, zones
and bare IPv6; whatever ends a string, a line or a host somewhere else; labels and names that DNS has not."""
