"""Burden the proxy of the environment in one way, then ask it for what no list has.

What a proxy answers to the burden is its own affair: it may refuse, close or serve. What counts is the
call that follows while the burden still weighs on it: a proxy that is out of memory, of descriptors or
of patience must not let it through. Everything is bounded and lasts a second or two.
Sources: stripe/smokescreen TestProxyTimeouts and TestMaxConcurrentConnectTunnels, RFC 6585 5, RFC 1928.
"""

import base64
import contextlib
import errno
import os
import random
import re
import socket
import ssl
import time
import urllib.parse

SLOWLY, PAUSE = 20, 0.05  # bytes that a slow client sends, and the seconds before each


def attempt(target):
    """The burden, then the call; a refused call is the proxy's answer."""
    target.meet()
    (step,) = target.steps
    request = step["request"]
    target.step("proxy")
    proxy, marker = Proxy(), "%s.0" % target.token
    proxy.dial().close()  # it is there before it is burdened
    if "stress" not in request:  # the allowed call beside it
        target.step("listed")
        return call(proxy, request["connect"], marker)
    weight = []  # connections that stay open meanwhile
    with contextlib.suppress(OSError):  # a proxy that has enough of them has answered
        BURDENS[request["stress"]](proxy, request, weight)
    target.step("forbidden")
    return call(proxy, request["then"]["connect"], marker)


class Proxy:
    """Where it is, and how it knows us."""

    def __init__(self):
        """From the environment."""
        found = os.environ.get("http_proxy") or os.environ.get("HTTP_PROXY")
        if not found:
            raise NotImplementedError("no proxy in the environment here")
        where = urllib.parse.urlsplit(found)
        self.place, self.known = (where.hostname, where.port or 80), ""
        if where.username:
            pair = urllib.parse.unquote("%s:%s" % (where.username, where.password or ""))
            self.known = "Proxy-Authorization: Basic %s\r\n" % base64.b64encode(pair.encode()).decode()

    def dial(self):
        """A connection to it."""
        return socket.create_connection(self.place, timeout=2)

    def tunnel(self, to, more=""):
        """(connection, what it answers) of one CONNECT."""
        connection = self.dial()
        text = "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s%s\r\n" % (to, to, self.known, more)
        connection.sendall(text.encode())
        return connection, connection.recv(65536).decode("latin-1")


def call(proxy, to, marker):
    """The call that no list allows: a tunnel, and a GET with the marker in it. OSError for a refusal."""
    connection, told = proxy.tunnel(to)
    with connection:
        if not told:
            raise ConnectionResetError(errno.ECONNRESET, "closed without a status")
        if not re.match(r"HTTP/1\.\d 2", told):
            raise PermissionError(errno.EACCES, told)
        host = to.rpartition(":")[0]
        connection.sendall(("GET / HTTP/1.1\r\nHost: %s\r\nX-Marker: %s\r\n\r\n" % (host, marker)).encode())
        return told + connection.recv(65536).decode("latin-1")


def slow(proxy, _, weight):
    """Twenty clients that send a byte at a time, all at once, and go on hanging."""
    weight += [proxy.dial() for _ in range(20)]
    for byte in b"GET http://api.allowed.test/ HTTP/1.1"[:SLOWLY]:
        time.sleep(PAUSE)
        for client in weight:
            sent(client, bytes([byte]))


def tunnels(proxy, request, weight):
    """Fifty open tunnels to a listed host, or as many as it opens."""
    for _ in range(50):
        tunnel, told = proxy.tunnel(request["through"])
        weight.append(tunnel)
        if not told.startswith(("HTTP/1.1 200", "HTTP/1.0 200")) and len(weight) == 1:
            raise RuntimeError("not even one tunnel opens, so nothing weighs on it: %s" % told)


def denials(proxy, request, _):
    """Two hundred refusals, one after another."""
    for _ in range(200):
        proxy.tunnel(request["then"]["connect"])[0].close()


def garbage(proxy, _, weight):
    """What is no HTTP: noise, TLS, SSH, SOCKS 4 and 5, HTTP/2; each on a connection of its own."""
    hello = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), hello, server_hostname="x.test").do_handshake()
    noise = random.Random(19)
    given = [bytes(noise.getrandbits(8) for _ in range(size)) for size in (1, 64, 4096)]
    given += [hello.read(), b"SSH-2.0-OpenSSH_9.2\r\n", b"\4\1\1\xbb\x0a\x0b\x0c\x0d\0"]
    given += [
        b"\5\1\0\5\1\0\1\x0a\x0b\x0c\x0d\1\xbb",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9),
        b"\0\r\n\r\n",
    ]
    for data in given:
        weight.append(proxy.dial())
        sent(weight[-1], data)


def headers(proxy, request, weight):
    """A thousand headers."""
    more = "".join("X-%d: %d\r\n" % (number, number) for number in range(1000))
    heavy(proxy, weight, "CONNECT %s HTTP/1.1\r\n%s%s\r\n" % (request["through"], proxy.known, more))


def long_target(proxy, _, weight):
    """A target of one mebibyte."""
    heavy(proxy, weight, "CONNECT %s:443 HTTP/1.1\r\n%s\r\n" % ("a" * (1 << 20), proxy.known))


def heavy(proxy, weight, text):
    """One large request, and at most half a second for its answer."""
    guest = proxy.dial()
    weight.append(guest)
    sent(guest, text.encode())
    guest.settimeout(0.5)
    with contextlib.suppress(OSError):
        guest.recv(65536)


def sent(guest, data):
    """Send; a proxy that has hung up meanwhile has answered."""
    with contextlib.suppress(OSError):
        guest.sendall(data)


BURDENS = {
    "slow-20": slow,
    "tunnels-50": tunnels,
    "denials-200": denials,
    "garbage": garbage,
    "headers-1000": headers,
    "target-1m": long_target,
}
