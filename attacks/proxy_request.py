"""Ask the proxy of the environment for what the row says, and report all that the client is told.

Each step of the row is one request: a tunnel (CONNECT) with a GET in it, a GET in absolute form, a
web socket, or bytes as they are. They go out as the row writes them, since most clients tidy up a
host before they send it; a GET carries the token, which is what arrives where it should not. A
status of 400 or more, or a connection that is closed without one, is the proxy's refusal.
Sources: RFC 9110 9.3.6 (CONNECT), RFC 9112 3.2.2 (absolute form), RFC 8446 4.1.2 (ClientHello).
"""

import base64
import errno
import os
import re
import socket
import ssl
import struct
import time
import urllib.parse

PATIENCE = 8.0  # seconds for one step, from when the harness has come
MOST = 32768  # bytes kept of one answer
LISTED, FORBIDDEN = "listed", "forbidden"  # what the harness may call a step
REQUEST_LINE = re.compile(rb"^[A-Z]+ [^\r\n]* HTTP/\d\.\d\r?\n", re.MULTILINE)
UPGRADE = "X-Marker: $MARKER\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
UPGRADE += "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="


def attempt(target):
    """Take the steps in turn, to the last or to one that got out. What was told last stands first."""
    told, line, refusal, neighbour = [], None, None, ""
    for number, step in enumerate(target.steps):
        neighbour = (target.meet(str(number)) if number else target.meet()) or neighbour
        if not step["request"]:  # the lists change, and nothing is asked
            target.step(step["step"])
            continue
        marker = "%s.%d" % (target.token, number)
        kept, refusal = line if step.get("keep") else None, None
        client = Client(target, step["request"], marker, neighbour, kept)
        try:
            client.ask(step["step"], told)
            if step["step"] == FORBIDDEN:
                break  # a later refusal would hide it
        except OSError as error:
            if error.errno is None:
                raise  # its own deadline, which is no refusal
            refusal = error
            if step["step"] == LISTED:
                break
        line = client.line
    if refusal:
        raise OSError(refusal.errno, "\n".join([str(refusal.strerror), *told]))
    return "\n".join(told)


class Client:
    """One request by one client."""

    def __init__(self, target, request, marker, neighbour, kept):
        """`marker` is what it carries outside; `neighbour` the proxy that belongs to another."""
        self.target, self.request, self.marker, self.line = target, request, marker, kept
        self.other = request.get("proxy") == "neighbour"
        ours = os.environ.get("http_proxy") or os.environ.get("HTTP_PROXY")
        found = neighbour if self.other else ours
        if not found:
            raise NotImplementedError("no such proxy here")
        self.proxy = urllib.parse.urlsplit(found)

    def dial(self):
        """A connection to the proxy."""
        return Line((self.proxy.hostname, self.proxy.port or 80), self.told)

    def ask(self, word, told):
        """Ask, on the kept connection or a new one; `told` takes what is answered. OSError for a refusal."""
        self.told = told
        self.target.step(word if self.other else "proxy")  # not reaching a neighbour's is an answer
        self.line = self.line or self.dial()
        self.line.end = time.monotonic() + PATIENCE
        self.target.step(word)
        if "raw" in self.request:
            self.raw(self.fill(self.request["raw"]))
        elif "get" in self.request:
            self.get(self.request["get"], self.request.get("follow", False))
        elif "websocket" in self.request:
            self.websocket(urllib.parse.urlsplit(self.request["websocket"]))
        else:
            inside = self.message("GET / HTTP/1.1", self.request["connect"].rpartition(":")[0])
            self.connect(self.request["connect"], self.request.get("tls"), inside)

    def fill(self, text):
        """A text of the row as bytes: latin-1 where that can say it, else UTF-8."""
        place = self.proxy.netloc.rpartition("@")[2]
        for word, means in ("MARKER", self.marker), ("PROXY", place), ("PORT", str(self.proxy.port)):
            text = text.replace("$" + word, means)
        try:
            return text.encode("latin-1")
        except UnicodeEncodeError:
            return text.encode("utf-8")

    def known(self, data):
        """These bytes with the proxy's own credentials behind each request line, if it has any."""
        if not self.proxy.username:
            return data
        pair = urllib.parse.unquote("%s:%s" % (self.proxy.username, self.proxy.password or ""))
        header = b"Proxy-Authorization: Basic " + base64.b64encode(pair.encode()) + b"\r\n"
        return REQUEST_LINE.sub(lambda found: found[0] + header, data)

    def message(self, first, host, more="X-Marker: $MARKER"):
        """A request with the marker in it. A Host header of the row stands in place of ours."""
        given = dict({"Host": host}, **self.request.get("headers", {}))
        lines = [first, *("%s: %s" % pair for pair in given.items()), more]
        return self.fill("\r\n".join(lines) + "\r\n\r\n" + self.request.get("body", ""))

    def connect(self, place, tls, inside):
        """A tunnel, perhaps TLS, and a request in it; through a tunnel that is open, the request alone."""
        inside = self.fill(self.request["send"]) if "send" in self.request else inside
        if self.line.tunnel:
            self.line.send(inside)
        else:
            asked = self.known(self.fill("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (place, place)))
            early = self.request.get("early", False)
            self.line.send(asked + inside if early else asked)
            self.line.answer(bodiless=True)
            self.line.tunnel = True
            if tls is not None and not self.line.secure(tls):
                self.line.anything()
                return
            if not early:
                self.line.send(inside)
        self.line.answer()

    def get(self, url, follow):
        """A GET (or another method) in absolute form; to `follow`, then marked, where it is sent to."""
        method = self.request.get("method", "GET")
        host = re.sub(r"^[^/]*//|[/?#].*", "", url).rpartition("@")[2]
        more = ["Accept: */*"] if follow else []
        self.line.send(self.known(self.message("%s %s HTTP/1.1" % (method, url), host, *more)))
        self.line.answer(bodiless=method == "HEAD")
        if follow:
            for place in re.findall(r"(?im)^location:[ \t]*(\S+)", self.told[0])[:1]:
                self.line = self.dial()
                self.get(place, follow=False)

    def websocket(self, url):
        """As web-socket clients do: a tunnel for ws:// too, and the upgrade in it."""
        port = url.port or (443 if url.scheme == "wss" else 80)
        tls = {"sni": url.hostname} if url.scheme == "wss" else None
        inside = self.message("GET %s HTTP/1.1" % (url.path or "/"), url.hostname, UPGRADE)
        self.connect("%s:%d" % (url.hostname, port), tls, inside)

    def raw(self, data):
        """Bytes as they are, and as many answers as the row waits for; the last status decides."""
        self.line.send(self.known(data))
        wanted = self.request.get("answers", 1)
        tunnel = data.startswith(b"CONNECT ") and wanted == 1
        for _ in range(wanted):
            self.line.answer(bodiless=tunnel)
        if tunnel:
            self.line.tunnel = True
            self.line.send(self.message("GET / HTTP/1.1", "tunnel"))
            self.line.answer()


class Line:
    """One connection to a proxy: later perhaps a tunnel, and perhaps TLS in it."""

    def __init__(self, place, told):
        """Connect. `told` takes each answer, the newest first; nothing is waited for after `end`."""
        self.told, self.end = told, time.monotonic() + PATIENCE
        self.socket = socket.create_connection(place, timeout=2)
        self.read, self.tunnel, self.session = b"", False, None

    def send(self, data):
        """Send, through TLS once it stands."""
        self.socket.settimeout(max(0.01, self.end - time.monotonic()))
        if self.session:
            self.session.write(data)
            data = self.goes.read()
        self.socket.sendall(data)

    def more(self):
        """Read once more; False when the other side has closed. socket.timeout when patience is over."""
        self.socket.settimeout(max(0.01, self.end - time.monotonic()))
        data = self.socket.recv(65536)
        if self.session and data:
            self.came.write(data)
            try:
                while True:
                    self.read += self.session.read(65536)
            except ssl.SSLWantReadError:
                return True
            except ssl.SSLError:  # the other side has said that it ends
                return False
        self.read += data
        return bool(data)

    def anything(self):
        """Whatever comes next, however little. ConnectionResetError when nothing does."""
        if not self.read and not self.more():
            raise ConnectionResetError(errno.ECONNRESET, "closed without an answer")
        self.told.insert(0, shown(self.read))
        self.read = b""

    def answer(self, *, bodiless=False):
        """One answer, whole; without a body where the request allows none. OSError for a refusal."""
        while b"\r\n\r\n" not in self.read and len(self.read) < MOST:
            if self.read and not self.read.startswith(b"HTTP/"[: len(self.read)]):
                self.anything()  # no HTTP at all: what a tunnel may carry
                return
            if not self.more():
                raise ConnectionResetError(errno.ECONNRESET, "closed without a status: " + shown(self.read))
        head, _, self.read = self.read.partition(b"\r\n\r\n")
        line, _, _ = shown(head).partition("\r\n")
        number = int("0" + re.sub(r"^\S+ (\d*).*", r"\1", line))
        empty = number in (204, 304) or number < 200 or (bodiless and number < 300)
        self.told.insert(0, shown(head + b"\r\n\r\n" + (b"" if empty else self.body(head.lower()))))
        if number == 101:
            self.anything()  # the first frame
        elif 100 <= number < 200:
            self.answer(bodiless=bodiless)
        elif not 200 <= number < 400:
            raise PermissionError(errno.EACCES, line)

    def body(self, head):
        """The body by its length, by chunks, or up to the end, which is also where patience ends."""
        length = re.search(rb"\r\ncontent-length:[ \t]*(\d+)", head)
        chunked = re.search(rb"\r\ntransfer-encoding:[^\r]*chunked", head)
        ended = chunked or b"\r\nconnection: close" in head or head.startswith(b"http/1.0")
        wanted = int(length[1]) if length else MOST if ended else 0
        while len(self.read) < min(wanted, MOST) and not (chunked and b"0\r\n\r\n" in self.read):
            try:
                if not self.more():
                    break
            except socket.timeout:
                break  # what has come is told all the same
        wanted = self.read.find(b"0\r\n\r\n") + 5 if chunked and b"0\r\n\r\n" in self.read else wanted
        body, self.read = self.read[:wanted], self.read[wanted:]
        return body

    def secure(self, tls):
        """TLS in the tunnel, nothing verified. False where only an altered hello can be sent."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if "alpn" in tls:
            context.set_alpn_protocols(tls["alpn"])
        self.came, self.goes = ssl.MemoryBIO(), ssl.MemoryBIO()
        session = context.wrap_bio(self.came, self.goes, server_hostname=tls.get("sni"))
        first = True
        while self.session is None:
            try:
                session.do_handshake()
                self.session = session
            except ssl.SSLWantReadError:
                data = self.goes.read()
                self.socket.sendall(shaped(data, tls) if first else data)
                if "second" in tls or "ech" in tls:
                    return False
                if not self.more():
                    raise ConnectionResetError(errno.ECONNRESET, "closed instead of a handshake") from None
                self.came.write(self.read)
                first, self.read = False, b""
            except ssl.SSLError as error:  # its number is no errno
                raise ConnectionAbortedError(errno.ECONNABORTED, "handshake: %s" % error) from None
        self.socket.sendall(self.goes.read())
        return True


def shaped(hello, tls):
    """A ClientHello as the row wants it: with more in it, in several records."""
    hello = altered(hello, tls)
    size = tls.get("split", len(hello))
    parts = [hello[5:][at : at + size] for at in range(0, len(hello) - 5, size)]
    return b"".join(hello[:3] + struct.pack("!H", len(part)) + part for part in parts)


def altered(hello, tls):
    """With a second server name, or with an encrypted hello (RFC 9849) of random bytes."""
    body = hello[9:]
    at = 34 + 1 + body[34]  # version, random, session
    at += 2 + int.from_bytes(body[at : at + 2], "big")  # ciphers
    at += 1 + body[at]  # compressions
    extensions, rest = b"", body[at + 2 :]
    while rest:
        kind, size = struct.unpack("!HH", rest[:4])
        content, rest = rest[4 : 4 + size], rest[4 + size :]
        if kind == 0 and "second" in tls:
            name = tls["second"].encode()
            names = content[2:] + struct.pack("!BH", 0, len(name)) + name
            content = struct.pack("!H", len(names)) + names
        extensions += struct.pack("!HH", kind, len(content)) + content
    if "ech" in tls:
        sealed = b"\0\0\1\0\1\7\0\40" + os.urandom(32) + b"\0\100" + os.urandom(64)
        extensions = struct.pack("!HH", 0xFE0D, len(sealed)) + sealed + extensions
    body = body[:at] + struct.pack("!H", len(extensions)) + extensions
    body = hello[5:6] + struct.pack("!I", len(body))[1:] + body
    return hello[:3] + struct.pack("!H", len(body)) + body


def shown(data):
    """What came, as text of one character a byte."""
    return data[:MOST].decode("latin-1")
