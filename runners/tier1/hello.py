"""The first bytes of a tunnel: whether they are a TLS client hello, and which server it names in the clear.

Pure. Nothing is altered and nothing is believed: what begins like TLS and cannot be read to its end is
`Unreadable`, as some server might read it otherwise. A protocol that is not TLS is `Other`. An encrypted
client hello is judged by the outer one, which is a hello like any.

Sources: RFC 8446 4.1.2 and 5.1, RFC 6066 3 (server_name).
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_BYTES = 1 << 16
"""Of a client hello, its records included; one with post-quantum key shares has some 2,000."""

_HANDSHAKE, _CLIENT_HELLO, _SERVER_NAME, _HOST_NAME = 22, 1, 0, 0
_CONTENT_TYPES = range(20, 25)  # change_cipher_spec, alert, handshake, application_data, heartbeat
_MAJOR = 3  # of every version of TLS, as it stands in a record
_MOST_IN_RECORD = 1 << 14
_RECORD_HEAD, _MESSAGE_HEAD = 5, 4


@dataclass(frozen=True)
class Hello:
    """A whole client hello; `names` are the servers that it names: most often one, or none."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Partial:
    """A client hello so far; more must come."""


@dataclass(frozen=True)
class Other:
    """Not TLS."""


@dataclass(frozen=True)
class Unreadable:
    """It begins like TLS, and no client hello can be made of it."""

    why: str


class _WrongError(Exception):
    """The hello contradicts itself."""


class Opening:
    """What a client says first, however it is cut into segments and records."""

    def __init__(self) -> None:
        self._size = 0
        self._unread = bytearray()  # what is not a whole record yet
        self._message = bytearray()  # the handshake message, without the records around it

    def feed(self, data: bytes) -> Hello | Partial | Other | Unreadable:
        """What it is, now that these bytes have come too. What is not Partial is the last answer."""
        self._size += len(data)
        self._unread += data
        if self._size == len(self._unread) and (known := _not_tls(self._unread)):
            return known
        try:
            body = self._body()
            if body is not None:
                return Hello(_names(body))
        except _WrongError as error:
            return Unreadable(str(error))
        return Partial() if self._size <= MOST_BYTES else Unreadable("its hello has no end")

    def _body(self) -> bytes | None:
        """The client hello, put together from its records; None: more must come."""
        message, begin = self._message, 0
        while len(self._unread) - begin >= _RECORD_HEAD:
            kind, size = self._unread[begin], int.from_bytes(self._unread[begin + 3 : begin + _RECORD_HEAD])
            if kind != _HANDSHAKE or not 0 < size <= _MOST_IN_RECORD:
                raise _WrongError("its records are not a handshake's")
            end = begin + _RECORD_HEAD + size
            if end > len(self._unread):
                break
            message += self._unread[begin + _RECORD_HEAD : end]
            begin = end
            if message[0] != _CLIENT_HELLO:
                raise _WrongError("its first message is no client hello")
            if len(message) >= _MESSAGE_HEAD:
                whole = _MESSAGE_HEAD + int.from_bytes(message[1:_MESSAGE_HEAD])
                if whole > MOST_BYTES:
                    raise _WrongError(f"it is above {MOST_BYTES} bytes")
                if len(message) >= whole:
                    return bytes(message[_MESSAGE_HEAD:whole])
        del self._unread[:begin]
        return None


def read_hello(data: bytes) -> Hello | Partial | Other | Unreadable:
    """What the first bytes of a client are, all at once."""
    return Opening().feed(data)


def _not_tls(data: bytearray) -> Other | Partial | None:
    """Partial while it cannot be told; None where it is TLS, or what a careless server takes for it."""
    if not data:
        return Partial()
    if data[0] not in _CONTENT_TYPES:
        return Other()
    if len(data) > 1 and data[1] == _MAJOR:
        return None
    if len(data) > 1 and data[0] != _HANDSHAKE:
        return Other()
    if len(data) <= _RECORD_HEAD:
        return Partial()
    return None if data[_RECORD_HEAD] == _CLIENT_HELLO else Other()  # some look at no version


def _names(body: bytes) -> tuple[str, ...]:
    """The host names of every server_name extension."""
    hello = _Fields(body)
    hello.take(2 + 32)  # version, random
    for length in (1, 2, 1):  # session id, cipher suites, compression methods
        hello.vector(length)
    if not hello.rest:
        return ()
    extensions = hello.vector(2)
    hello.end()
    names: list[str] = []
    while extensions.rest:
        kind, content = extensions.number(2), extensions.vector(2)
        if kind != _SERVER_NAME:
            continue
        listed = content.vector(2)
        content.end()
        while listed.rest:
            if listed.number(1) != _HOST_NAME:
                raise _WrongError("it names its server by something that is no host name")
            names.append(listed.vector(2).rest.decode("latin-1"))
    return tuple(names)


class _Fields:
    """Bytes that are taken off the front."""

    def __init__(self, data: bytes) -> None:
        self.rest = data

    def take(self, size: int) -> bytes:
        if len(self.rest) < size:
            raise _WrongError("a length in it points behind its end")
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size))

    def vector(self, size: int) -> _Fields:
        return _Fields(self.take(self.number(size)))

    def end(self) -> None:
        if self.rest:
            raise _WrongError("there is more in it than its lengths say")
