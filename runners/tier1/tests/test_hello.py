"""What a tunnel's first bytes are, and whom a TLS client names."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.tier1.hello import MOST_BYTES, Hello, Opening, Other, Partial, Unreadable, read_hello
from runners.tier1.tests.bed import hello, records

NAMED, NAMELESS = hello("api.allowed.test"), hello(None)


def extended(extensions: bytes) -> bytes:
    """A hello with these extensions alone."""
    body = (
        b"\x03\x03"
        + bytes(32)
        + b"\0"
        + b"\0\x02\x13\x01"
        + b"\x01\0"
        + len(extensions).to_bytes(2)
        + extensions
    )
    message = b"\x01" + len(body).to_bytes(3) + body
    return b"\x16\x03\x01" + len(message).to_bytes(2) + message


def names(*listed: str) -> bytes:
    """A server_name extension."""
    inner = b"".join(b"\0" + len(each).to_bytes(2) + each.encode() for each in listed)
    content = len(inner).to_bytes(2) + inner
    return b"\0\0" + len(content).to_bytes(2) + content


def test_a_real_hello() -> None:
    assert read_hello(NAMED) == Hello(("api.allowed.test",))
    assert read_hello(NAMELESS) == Hello(())
    assert read_hello(NAMED + b"more") == Hello(("api.allowed.test",))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100, 500])
def test_cut_into_records(size: int) -> None:
    assert read_hello(records(NAMED, size)) == Hello(("api.allowed.test",))


@pytest.mark.parametrize("size", [1, 2, 7, 300])
def test_cut_into_segments(size: int) -> None:
    cut, opening = records(NAMED, 50), Opening()
    answers = [opening.feed(cut[each : each + size]) for each in range(0, len(cut), size)]
    assert answers[-1] == Hello(("api.allowed.test",))
    assert all(isinstance(each, Partial) for each in answers[:-1])


def test_every_name_of_every_extension() -> None:
    assert read_hello(extended(names("a.test", "b.test"))) == Hello(("a.test", "b.test"))
    assert read_hello(extended(names("a.test") + names("b.test"))) == Hello(("a.test", "b.test"))
    encrypted = b"\xfe\x0d\0\x03abc"
    assert read_hello(extended(encrypted + names("b.test"))) == Hello(("b.test",))
    assert read_hello(extended(encrypted)) == Hello(())


@pytest.mark.parametrize(
    "said",
    [
        b"GET / HTTP/1.1\r\n",
        b"SSH-2.0-x\r\n",
        b"\0\0\0\x08\x04\xd2\x16\x2f",
        b"\x80\x2e\x01\x03\x01",
        b"\x15\0\0",
    ],
)
def test_another_protocol(said: bytes) -> None:
    assert read_hello(said) == Other()


@pytest.mark.parametrize(
    "said",
    [
        b"\x15\x03\x01\0\x02\x01\x00" + NAMED,  # an alert before, which some servers pass over
        b"\x14\x03\x01\0\x01\x01" + NAMED,
        b"\x16\x03\x01\0\x00" + NAMED,  # an empty record before
        b"\x16\x03\x01\0\x04\x02\0\0\0",  # a server's hello
        b"\x16\x03\x01\xff\xff" + bytes(10),
        records(NAMED, 100)[:105] + b"\x15\x03\x01\0\x02\x01\x00" + records(NAMED, 100)[105:],
        b"\x16\x0f\x00\0\x04\x01\0\0\0",  # a version that some servers do not look at
        extended(b"\0\0\0\x05\0\x06\0\0\x01"),  # a length behind the end
        extended(names("a.test")[:2] + b"\0\x05\0\x03\x01\0\x00"),  # a name of another kind
        b"\x16\x03\x01\0\x04\x01\xff\xff\xff",
    ],
)
def test_what_begins_like_tls_and_cannot_be_read(said: bytes) -> None:
    assert isinstance(read_hello(said), Unreadable)


def test_a_hello_without_end_is_bounded() -> None:
    opening, answer, fed = Opening(), Partial(), 0
    while isinstance(answer, Partial):
        answer = opening.feed(
            b"\x16\x03\x01\x40\x00" + b"\x01\x00\xff\xf0" + bytes(16380) if not fed else bytes(999)
        )
        fed += 999
        assert fed < 2 * MOST_BYTES
    assert isinstance(answer, Unreadable)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.binary(max_size=100), st.binary(max_size=100).map(lambda tail: b"\x16\x03\x01" + tail)))
def test_whatever_comes_is_one_of_four(said: bytes) -> None:
    assert isinstance(read_hello(said), Hello | Partial | Other | Unreadable)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(NAMED) - 1), st.integers(0, 255))
def test_a_spoilt_hello_never_names_nobody_by_chance(where: int, value: int) -> None:
    """A byte that is wrong makes another name, or none that can be read; never an error of ours."""
    spoilt = NAMED[:where] + bytes([value]) + NAMED[where + 1 :]
    assert isinstance(read_hello(spoilt), Hello | Partial | Other | Unreadable)
