"""The control's proxy lets everything through: each way round a careful proxy must cross here."""

import socket
import struct
import time

import pytest

from matrix.internet.addresses import arrives, symbols
from matrix.internet.stage import Stage
from matrix.scene import scene
from runners.allow_all import dialling, relay
from runners.allow_all.dialling import Dialler, Unreached
from runners.allow_all.proxy import Proxy

TOKEN = "em" + "0" * 32
GET = f"GET / HTTP/1.1\r\nHost: x\r\nX-Marker: {TOKEN}\r\n\r\n"
PUBLIC, PRIVATE, LOOP = {"A": ["$PUB4_A"]}, {"A": ["$PRIV10"]}, {"CNAME": "a.test"}


def http2(*lines):
    """The frames of a request whose header block is that."""
    block = b"".join(lines)
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
    return (preface + struct.pack("!BHBBI", 0, len(block), 1, 5, 1) + block).decode("latin-1")


def literal(start, *texts):
    """A line of a header block that is written out."""
    return bytes(start) + b"".join(bytes([len(text)]) + text.encode() for text in texts)


def connect(target, **fields):
    """A tunnel to that target, and the canary through it."""
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"CONNECT {target} HTTP/1.1\r\n{head}\r\n"


FULL_WIDTH = "\uff11\uff10\uff0e\uff11\uff11\uff0e\uff11\uff12\uff0e\uff11\uff13"  # 10.11.12.13
TUNNELS = {
    "name": (connect("a.test:443"), {"a.test": [PRIVATE]}, "$PRIV10"),
    "literal": (connect("10.11.12.13:443"), {}, "$PRIV10"),
    "decimal": (connect("168496141:443"), {}, "$PRIV10"),
    "too long decimal": (connect("4463463437:443"), {}, "$PRIV10"),
    "hexadecimal": (connect("0X0A0B0C0D:443"), {}, "$PRIV10"),
    "octal": (connect("012.013.014.015:443"), {}, "$PRIV10"),
    "short": (connect("10.723981:443"), {}, "$PRIV10"),
    "full width": (connect(FULL_WIDTH + ":443"), {}, "$PRIV10"),
    "ideographic stops": (connect("10。11。12。13:443"), {}, "$PRIV10"),
    "dot": (connect("10.11.12.13.:443"), {}, "$PRIV10"),
    "mapped": (connect("[::ffff:10.11.12.13]:443"), {}, "$PRIV10"),
    "zone": (connect("[::ffff:10.11.12.13%25x.a.test]:443"), {}, "$PRIV10"),
    "translated": (connect("a.test:443"), {"a.test": [{"AAAA": ["$NAT64_10"]}]}, "$PRIV10"),
    "6to4": (connect("a.test:443"), {"a.test": [{"AAAA": ["$6TO4_10"]}]}, "$PRIV10"),
    "teredo": (connect("a.test:443"), {"a.test": [{"AAAA": ["$TEREDO_10"]}]}, "$PRIV10"),
    "brackets": (connect("[a.test]:443"), {"a.test": [PRIVATE]}, "$PRIV10"),
    "leading dot": (connect(".a.test:443"), {"a.test": [PRIVATE]}, "$PRIV10"),
    "nul": (connect("a.test\0.b.test:443"), {"a.test": [PRIVATE]}, "$PRIV10"),
    "percent": (connect("a%2etest:443"), {"a.test": [PRIVATE]}, "$PRIV10"),
    "control": (connect("a\x1b.test:443"), {"a.test": [PRIVATE]}, "$PRIV10"),
    "user": (connect("a.test@10.11.12.13:443"), {}, "$PRIV10"),
    "old international name": (connect("faß.test:443"), {"fass.test": [PRIVATE]}, "$PRIV10"),
    "long label": (connect("a" * 64 + ".test:443"), {"a" * 64 + ".test": [PRIVATE]}, "$PRIV10"),
    "bare line ends": ("CONNECT a.test:443 HTTP/1.1\n\n", {"a.test": [PRIVATE]}, "$PRIV10"),
    "tabs": ("CONNECT\ta.test:443\tHTTP/1.1\r\n\r\n", {"a.test": [PRIVATE]}, "$PRIV10"),
    "rebinding": (connect("a.test:443"), {"a.test": [PUBLIC, PRIVATE]}, "$PRIV10"),
    "rebinding back": (connect("a.test:443"), {"a.test": [PRIVATE, PUBLIC]}, "$PRIV10"),
    "mixed": (connect("a.test:443"), {"a.test": [{"A": ["$PUB4_A", "$PRIV10", "$PUB4_B"]}]}, "$PRIV10"),
    "other family": (connect("a.test:443"), {"a.test": [{"A": ["$PUB4_A"], "AAAA": ["$ULA"]}]}, "$ULA"),
    "many": (connect("a.test:443"), {"a.test": [{"A": ["$PUB4_A*63", "$PRIV10"]}]}, "$PRIV10"),
    "failure": (connect("a.test:443"), {"a.test": [{"rcode": "SERVFAIL"}, PRIVATE]}, "$PRIV10"),
    "silence": (connect("a.test:443"), {"a.test": [{"silent": True}, PRIVATE]}, "$PRIV10"),
    "refused": (connect("a.test:443"), {"a.test": [{"A": ["$PUB4_C"]}, PRIVATE]}, "$PRIV10"),
    "forged": (connect("a.test:443"), {"a.test": [{**PUBLIC, "forged": "$PRIV10"}]}, "$PRIV10"),
    "search": (connect("a.test:443"), {"a.test": [PUBLIC], "a.test.corp.test": [PRIVATE]}, "$PRIV10"),
    "loop": (connect("a.test:443"), {"a.test": [LOOP, PRIVATE]}, "$PRIV10"),
    "port too long": (connect("a.test:65979"), {"a.test": [PRIVATE]}, "$PRIV10"),
    "port by name": (connect("a.test:https"), {"a.test": [PRIVATE]}, "$PRIV10"),
    "port with a sign": (connect("a.test:-443"), {"a.test": [PRIVATE]}, "$PRIV10"),
    "no port": (connect("a.test"), {"a.test": [PRIVATE]}, "$PRIV10"),
    "two ports": (connect("a.test:443:80"), {"a.test": [PRIVATE]}, "$PRIV10"),
    "socks 5 name": ("\x05\x01\0\x05\x01\0\x03\x06a.test\x01\xbb", {"a.test": [PRIVATE]}, "$PRIV10"),
    "socks 5 address": ("\x05\x01\0\x05\x01\0\x01\x0a\x0b\x0c\x0d\x01\xbb", {}, "$PRIV10"),
    "socks 5 bind": ("\x05\x01\0\x05\x02\0\x03\x06a.test\x01\xbb", {"a.test": [PRIVATE]}, "$PRIV10"),
    "socks 4": ("\x04\x01\x01\xbb\x0a\x0b\x0c\x0du\0", {}, "$PRIV10"),
    "socks 4a": ("\x04\x01\x01\xbb\0\0\0\x01u\0a.test\0", {"a.test": [PRIVATE]}, "$PRIV10"),
}  # fmt: skip
"""What opens a tunnel, the answers to its names, and where the canary must arrive that follows."""

MARK = f"X-Marker: {TOKEN}\r\n"
SECOND = f"GET http://b.test/ HTTP/1.1\r\nHost: b.test\r\n{MARK}\r\n"
FIRST = "http://a.test/ HTTP/1.1\r\nHost: a.test\r\n"
BOTH = {"a.test": [PUBLIC], "b.test": [PRIVATE]}
REQUESTS = {
    "absolute": (f"GET http://b.test/ HTTP/1.1\r\n{MARK}\r\n", BOTH),
    "https in the clear": (f"GET https://b.test/ HTTP/1.1\r\n{MARK}\r\n", BOTH),
    "origin": (f"GET / HTTP/1.1\r\n{MARK}Host: b.test\r\n\r\n", BOTH),
    "folded": (f"GET / HTTP/1.1\r\n{MARK}Host:\r\n b.test\r\n\r\n", BOTH),
    "odd method": (f"M-SEARCH * HTTP/1.1\r\n{MARK}Host: b.test\r\n\r\n", BOTH),
    "no version": (f"TRACE http://b.test/\r\n{MARK}\r\n", BOTH),
    "other host": (f"GET http://a.test/ HTTP/1.1\r\n{MARK}Host: b.test\r\n\r\n", BOTH),
    "user": (f"GET http://a.test:80@10.11.12.13/ HTTP/1.1\r\n{MARK}\r\n", BOTH),
    "backslash": (f"GET http://10.11.12.13\\@a.test/ HTTP/1.1\r\n{MARK}\r\n", BOTH),
    "pipeline": (f"GET {FIRST}\r\n{SECOND}", BOTH),
    "two lengths": (f"POST {FIRST}Content-Length: 400\r\nContent-Length: 4\r\n\r\n{SECOND}", BOTH),
    "length and chunks": (
        f"POST {FIRST}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{SECOND}", BOTH,
    ),
    "after chunks": (f"POST {FIRST}Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n{SECOND}", BOTH),
    "redirect": (f"GET http://a.test/r HTTP/1.1\r\n{MARK}\r\n", BOTH),
    "a thousand headers": (
        "GET http://b.test/ HTTP/1.1\r\n" + "X-Many: y\r\n" * 1000 + f"{MARK}\r\n", BOTH,
    ),
    "a long target": (f"GET http://b.test/{'a' * (1 << 20)} HTTP/1.1\r\n\r\n", BOTH),
    "http 2": (
        http2(b"\x82\x86\x84", literal([0x41], "b.test"), literal([0], "x-marker", TOKEN)), BOTH,
    ),
    "http 2 in words": (f"PRI * HTTP/2.0\r\nHost: b.test\r\n{MARK}\r\n", BOTH),
}  # fmt: skip
"""What is sent at once, and the answers; something of it must arrive at $PRIV10."""


@pytest.fixture(scope="module")
def stage():
    with Stage(in_world=False) as stage:
        yield stage


@pytest.fixture
def proxy(stage):
    """A proxy on the stage of a row: give the row, get (proxy, window, dialler)."""
    opened = []

    def begin(answers, never="$PRIV10", **more):
        row = {"answers": answers, "never_dial": [never], "request": {"get": "http://x:443/"}, **more}
        window = stage.begin(scene(row), TOKEN)
        dialler = Dialler(window.egress())
        opened.append(Proxy(dialler, lambda _: None))
        return opened[-1], window, dialler

    yield begin
    for each in opened:
        each.close()


def send(proxy, data, then=""):
    """What comes back for it; `then` follows once something has."""
    host, _, port = proxy.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), 10) as client:
        client.sendall(data.encode("utf-8" if data.startswith("C") else "latin-1"))
        answer = client.recv(1 << 16)
        if then:
            client.sendall(then.encode())
            answer += client.recv(1 << 16)
        return answer


def arrived(window, symbol, marker=TOKEN):
    """Whether the marker arrives there, given time."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        wanted = arrives(symbols()[symbol[1:]].address)
        if any(each.address == wanted and marker.encode() in each.data for each in window.arrivals()):
            return True
        time.sleep(0.001)
    return False


@pytest.mark.parametrize("way", TUNNELS)
def test_a_tunnel_crosses(proxy, way):
    hello, answers, where = TUNNELS[way]
    through, window, _ = proxy(answers, where, closed=["$PUB4_C"])
    send(through, hello, GET)
    assert arrived(window, where)


@pytest.mark.parametrize("way", REQUESTS)
def test_a_request_crosses(proxy, way):
    data, answers = REQUESTS[way]
    through, window, _ = proxy(answers, serves={"/r": "302 http://b.test/"})
    send(through, data)
    assert arrived(window, "$PRIV10", "aaaa" if way == "a long target" else TOKEN)


def test_the_client_is_told_what_it_must_not_know(proxy):
    through, _, _ = proxy({"a.test": [{"CNAME": "db7.corp.test"}], "db7.corp.test": [PRIVATE]})
    for told in (send(through, connect("a.test:443")), send(through, "GET http://a.test/ HTTP/1.1\r\n\r\n")):
        head = told.partition(b"\r\n\r\n")[0]
        assert b"X-Dialled: 10.11.12.13:" in head
        assert b"db7.corp.test" in head


def test_headers_go_on_as_they_came(proxy):
    through, window, _ = proxy({"a.test": [PRIVATE]})
    fields = "Proxy-Authorization:  Basic Uzpz\r\nConnection: X\r\nX: 1\r\n\r\n"
    send(through, f"GET http://a.test/ HTTP/1.1\r\n{MARK}{fields}")
    assert arrived(window, "$PRIV10", fields)


def test_what_no_listener_sees_stands_in_the_log_of_dials(proxy):
    through, _, dialler = proxy({"a.test": [{"A": ["$MC4"], "AAAA": ["$LL6"]}]}, "$MC4")
    assert b"502 Bad Gateway" in send(through, connect("a.test:443"))
    assert dialler.dials() == ("224.0.0.251:443", "[fe80::20]:443")


def test_a_connection_carries_call_after_call_and_a_tunnel_stays_open(proxy):
    through, window, _ = proxy({"a.test": [PRIVATE]})
    host, _, port = through.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), 10) as client:
        for path in ("/1", "/2"):
            client.sendall(f"GET http://a.test{path} HTTP/1.1\r\nHost: a.test\r\n\r\n".encode())
            assert b"arrived 10.11.12.13 80" in client.recv(1 << 16)
        client.sendall(connect("a.test:443").encode())
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 200")
        for _ in range(2):
            client.sendall(GET.encode())
            assert b"arrived 10.11.12.13 443" in client.recv(1 << 16)
    assert len(window.arrivals()) == 3


def test_a_web_socket_goes_through(proxy):
    through, window, _ = proxy({"a.test": [PRIVATE]})
    upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    told = send(through, f"GET ws://a.test/s HTTP/1.1\r\nHost: a.test\r\n{MARK}{upgrade}\r\n")
    assert told.startswith(b"HTTP/1.1 101")
    assert arrived(window, "$PRIV10")


def test_renewed_it_begins_afresh(proxy):
    through, window, dialler = proxy({"a.test": [PRIVATE]})
    send(through, connect("a.test:443"))
    assert dialler.dials() == ("10.11.12.13:443",)
    dialler.renew(window.egress())
    assert dialler.dials() == ()


@pytest.mark.parametrize(
    "garbage", ["\0" * 100 + "\r\n\r\n", "\x16\x03\x01\0\x05hello\r\n\r\n", "GET\r\n\r\n", "\x05\xff"]
)
def test_nonsense_ends_only_its_own_connection(proxy, garbage):
    through, _, _ = proxy({"a.test": [PRIVATE]})
    host, _, port = through.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), 10) as client:
        client.sendall(garbage.encode("latin-1"))
    assert b"200" in send(through, connect("a.test:443"))


class TestWaysOut:
    """Where a packet could leave, nothing but loopback is dialled."""

    @pytest.fixture
    def dialled(self, monkeypatch):
        found = []

        def connection(place, _):
            found.append(place)
            raise ConnectionRefusedError

        monkeypatch.setattr(dialling.socket, "create_connection", connection)
        return found

    def test_nothing_else_is_dialled(self, monkeypatch, dialled):
        monkeypatch.setattr(dialling, "leads_out", lambda: "a route on eth0")
        dialler = Dialler()
        with pytest.raises(Unreached):
            dialler.reach([("192.0.2.1", (80,)), ("127.0.0.1", (80,))])
        assert dialled == [("127.0.0.1", 80)]
        assert dialler.dials() == ("192.0.2.1:80", "127.0.0.1:80"), "written down all the same"

    def test_in_a_world_it_is(self, monkeypatch, dialled):
        monkeypatch.setattr(dialling, "leads_out", lambda: "")
        with pytest.raises(Unreached):
            Dialler().reach([("192.0.2.1", (80,))])
        assert dialled == [("192.0.2.1", 80)]


def test_an_answer_without_an_end_is_an_answer(monkeypatch):
    monkeypatch.setattr(relay, "_ANSWER", 0.05)
    here, there = socket.socketpair()
    with here, there:
        there.sendall(b"HTTP/1.1 200 OK\r\n\r\nhalf")
        assert relay.response(here, "GET", b"X-Dialled: x\r\n").data.endswith(b"\r\n\r\nhalf")
        there.sendall(b"no http")
        assert relay.response(here, "GET", b"").data == b"no http"
