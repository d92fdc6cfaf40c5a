"""What the servers of the little internet say, by a wire that is only a list of what comes."""

import base64
import hashlib
import json

import pytest

from matrix.internet.speech import Page, converse

ARRIVED = "arrived 10.11.12.13 80 eatoken"
PAGE = Page(arrived=ARRIVED, serves={"/r": "302 http://other.test/"})


class Wire:
    """Gives one piece after another, then the end; keeps what is sent."""

    def __init__(self, *pieces):
        self.pieces, self.sent = list(pieces), b""

    def receive(self):
        return self.pieces.pop(0) if self.pieces else b""

    def send(self, data):
        self.sent += data


def said(*pieces, page=PAGE):
    """Everything that was sent back, and what was left unread."""
    wire = Wire(*pieces)
    converse(wire, page)
    return wire.sent, wire.pieces


def request(line, *fields, body=b""):
    return "\r\n".join([line, *fields, "", ""]).encode() + body


def bodies(data):
    """The body of each response."""
    found = []
    while data:
        head, _, data = data.partition(b"\r\n\r\n")
        (length,) = [
            int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length")
        ]
        found.append(data[:length])
        data = data[length:]
    return found


def test_request_after_request_is_answered_however_they_are_cut():
    whole = request("GET / HTTP/1.1", "Host: x") * 3
    cut = [whole[start : start + 7] for start in range(0, len(whole), 7)]
    for pieces in ([whole], cut):
        assert bodies(said(*pieces)[0]) == [f"{ARRIVED}\n".encode()] * 3


@pytest.mark.parametrize(
    "body",
    [
        (("Content-Length: 5",), b"hello"),
        (("Transfer-Encoding: chunked",), b"5\r\nhello\r\n0\r\n\r\n"),
        (("Content-Length: 5", "Expect: 100-continue"), b"hello"),
    ],
    ids=["length", "chunked", "expected"],
)
def test_a_body_is_not_taken_for_a_request(body):
    fields, data = body
    sent, _ = said(request("POST / HTTP/1.1", *fields, body=data), request("GET / HTTP/1.1"))
    if "Expect: 100-continue" in fields:
        assert sent.startswith(b"HTTP/1.1 100 Continue\r\n\r\n")
        sent = sent.partition(b"\r\n\r\n")[2]
    assert len(bodies(sent)) == 2


def test_the_end_is_as_the_client_asks():
    for head in (request("GET / HTTP/1.0"), request("GET / HTTP/1.1", "Connection: close")):
        sent, left = said(head, request("GET / HTTP/1.1"))
        assert b"Connection: close" in sent
        assert len(left) == 1


def test_head_has_no_body_and_a_path_says_where_else():
    assert said(request("HEAD / HTTP/1.1"))[0].endswith(b"\r\n\r\n")
    for path in ("/r", "/r?x", "http://api.test/r"):
        assert b"Location: http://other.test/\r\n" in said(request(f"GET {path} HTTP/1.1"))[0]


@pytest.mark.parametrize("hello", [b"SSH-2.0-x\r\n", b"no http\n", b"\0\1\2", b"SSH-2.0"])
def test_whoever_speaks_otherwise_gets_one_line(hello):
    assert said(hello, b"more")[0] == f"{ARRIVED}\r\n".encode()


def test_a_client_that_says_nothing_is_told_nothing():
    assert said()[0] == b""
    assert said(b"GET / HT")[0] == b""


def test_a_web_socket_is_agreed_to_as_the_standard_says_and_closed():
    key = "dGhlIHNhbXBsZSBub25jZQ=="  # RFC 6455 1.3, with the answer that stands there
    fields = ("Upgrade: WebSocket", "Connection: Upgrade", f"Sec-WebSocket-Key: {key}")
    sent, _ = said(request("GET /s HTTP/1.1", *fields), b"\x88\x80\0\0\0\0")
    head, _, frames = sent.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 101 ")
    assert b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head
    digest = hashlib.sha1(f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()
    assert base64.b64encode(digest) == b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    assert frames == bytes((0x81, len(ARRIVED))) + ARRIVED.encode() + b"\x88\x00"


def test_git_finds_one_branch_that_proves_the_arrival():
    (body,) = bodies(said(request("GET /x.git/info/refs?service=git-upload-pack HTTP/1.1"))[0])
    lines = []
    while body:
        length = int(body[:4], 16)
        lines.append(body[4:length] if length else b"")
        body = body[max(length, 4) :]
    assert lines[0] == b"# service=git-upload-pack\n"
    assert lines[1] == lines[3] == b""
    assert lines[2].partition(b"\0")[0] == b"0" * 39 + b"1 refs/heads/arrived-10.11.12.13-80-eatoken"


def test_npm_and_pip_are_shown_the_proof():
    (body,) = bodies(said(request("GET /canary HTTP/1.1"))[0])
    assert json.loads(body)["description"] == ARRIVED
    (body,) = bodies(said(request("GET /simple/canary/ HTTP/1.1"))[0])
    assert b"eatoken" in body
