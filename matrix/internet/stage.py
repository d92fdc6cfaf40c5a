"""The stage on which proxied rows play, one after another: names, addresses and servers for one row.

In a network world the addresses are real. Where there can be none (macOS, no user namespaces), each
has a port of 127.0.0.1 instead, and only a proxy that takes detours can be tried.
"""

from __future__ import annotations

import json
import re
import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import asdict
from ipaddress import ip_address
from typing import ClassVar, Self

import dns.exception
import dns.message
import dns.query

from matrix import world
from matrix.internet.addresses import addresses, arrives, spell, symbols
from matrix.internet.book import Book, spelled
from matrix.internet.capture import Capture
from matrix.internet.ground import Ground, InTable, InWorld
from matrix.internet.log import Connection, Log
from matrix.internet.names import HOST, PROOF, Names
from matrix.internet.servers import Servers
from matrix.internet.speech import Page
from matrix.internet.window import Window
from matrix.scene import Scene
from runners.allow_all.spelling import carried

_PORT = re.compile(r"(?<=[\w\].]):([0-9]{1,10})(?![\w:.])")
_SCHEME = re.compile(r"\b(https?|wss?)://")
_LITERAL = re.compile(r"(?<![\w.:])(?:[0-9]+(?:\.[0-9]+){3}|[0-9a-f]*:[0-9a-f:.]+)(?![\w.])")
_WORD = re.compile(r"\$[A-Z0-9][A-Z0-9_]*(?:\*[0-9]+)?")
_ANSWER = 2.0  # seconds that our own servers may take to answer us


class StageError(OSError):
    """There can be no stage here; the text says why."""


class Stage:
    """One stage; a process has at most one. It is never taken down: its threads end with the process."""

    _ours: ClassVar[Stage | None] = None
    _lock: ClassVar[threading.Lock] = threading.Lock()

    @classmethod
    def standing(cls) -> Stage:
        """The process's own, set up when first asked for. Raises StageError.

        A process that could be in a world and is not is refused, so that no row is tried in the weaker
        way by mistake.
        """
        with cls._lock:
            if cls._ours is None:
                cls._ours = cls(in_world=_in_world())
            return cls._ours

    def __init__(self, *, in_world: bool) -> None:
        """Listen, and answer from now on. Raises StageError, also for a world that leads out."""
        if in_world and (way := world.leads_out()):
            raise StageError(f"nothing is staged where a packet could leave: {way}")
        self.log = Log()
        self._window: Window | None = None
        with ExitStack() as ends:
            try:
                self._servers = Servers(self.log, self._page)
                ends.callback(self._servers.close)
                self.ground: Ground = InWorld(self._servers) if in_world else InTable(self._servers)
                ends.callback(self.ground.close)
                self._names = Names(self.log, self.ground.resolver_port)
                ends.callback(self._names.close)
                self._captures = [Capture(self._tried)] if in_world else []
                for capture in self._captures:
                    ends.callback(capture.close)
                self.ground.lay((), (), ())
            except OSError as error:
                raise StageError(f"the little internet cannot be set up: {error}") from error
            self._ends = ends.pop_all()
        self._names.start()
        self._servers.start()
        for capture in self._captures:
            capture.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening, for tests that set up one of their own."""
        self._ends.close()

    @property
    def resolver(self) -> tuple[str, int]:
        """Where the DNS server is."""
        return HOST, self._names.port

    @property
    def ca(self) -> bytes:
        """The certificate, as PEM, of the authority that vouches for every server here."""
        return self._servers.certificates.ca

    def begin(self, scene: Scene, token: str, arm: str = "") -> Window:
        """Set the stage for a row whose canary is `token`; the window before ends. Raises StageError.

        What comes late by its address alone counts for windows of the same `arm` only: a control dials
        whatever anybody forbids.
        """
        if self._window:
            self._window.end()
        mentioned = frozenset(_mentioned(scene))
        text = json.dumps(asdict(scene))
        spoken = mentioned.union(_literals(text))
        near = {inside for each in spoken for inside in carried(each)}  # where a translating network leads
        self.log.speak_of({arrives(each) for each in spoken | near}, text.lower(), arm)
        closed = [each for word in scene.closed for each in addresses(word)]
        unseen = {each.address for each in symbols().values() if each.observe}
        try:
            self.ground.lay(mentioned - unseen, _ports(scene), closed)
        except OSError as error:
            raise StageError(f"an address of the row cannot be had: {error}") from error
        self._names.tell(Book(spelled(scene.answers)))
        self._window = Window(scene, token, self.log, self.ground.detours, self.resolver)
        return self._window

    def proof(self) -> str:
        """Why a dial or a question could go unseen now; empty when all that are tried are seen.

        Every address that the row of the moment forbids is dialled, and a fresh name is asked for.
        """
        scene = self._window.scene if self._window else None
        words = [word for word in (scene.never_dial if scene else ()) if scene and word not in scene.closed]
        wanted = [each for word in words for each in addresses(word)]
        unseen = {each.address for each in symbols().values() if each.observe}
        for address in (*wanted, HOST):
            if address not in unseen and (why := self._dial(address)):
                return why
        return self._ask() or next(filter(None, (each.proof() for each in self._captures)), "")

    def _tried(self, tried: Connection, protocol: int, port: int) -> None:
        """Note what no listener is there for: a dial to a port of nobody's, and every datagram."""
        if protocol == socket.IPPROTO_UDP or not self._servers.hears(tried.address, tried.port):
            self.log.connected(tried, port)

    def _dial(self, address: str) -> str:
        """Why a connection to that address is not answered by us; empty when it is."""
        try:
            way = self.ground.way(address, 80)
            with socket.socket(socket.AF_INET6 if ":" in way[0] else socket.AF_INET) as dialling:
                dialling.settimeout(_ANSWER)
                dialling.bind(("", 0))
                with self.log.ours(dialling.getsockname()[1]):
                    dialling.connect(way)
                    dialling.sendall(b"GET / HTTP/1.0\r\n\r\n")
                    said = dialling.recv(4096)
        except OSError as error:
            return f"{address} cannot be listened at: {error}"
        return "" if f"arrived {arrives(address)} 80".encode() in said else f"another answers at {address}"

    def _ask(self) -> str:
        """Why a question is not answered by us; empty when it is."""
        name = secrets.token_hex(8) + PROOF
        try:
            dns.query.udp(dns.message.make_query(name, "A"), HOST, _ANSWER, self._names.port)
        except (OSError, dns.exception.DNSException) as error:
            return f"the DNS server does not answer: {error}"
        return ""

    def _page(self, address: str, port: int) -> Page:
        """What is answered at an address at the moment."""
        window = self._window
        if window is None:
            return Page(arrived=f"arrived {address} {port}")
        arrived = f"arrived {address} {port} {window.answer_token}"
        serves = {path: spell(said) for path, said in window.scene.serves.items()}
        return Page(arrived=arrived, serves=serves)


def _in_world() -> bool:
    """Whether this process is in a world, or there can be none. Raises StageError if it should."""
    match world.standing():
        case world.Inside():
            return True
        case world.Impossible():
            return False
        case world.Possible():
            way = world.leads_out()
            raise StageError(f"not in a network world ({way or 'no mark of one'}): enter it first")


def _mentioned(scene: Scene) -> Iterator[str]:
    """Every address that a row speaks of by a symbol, or has a name resolve to."""
    for given in scene.answers.values():
        for answer in given:
            for words in answer.addresses.values():
                for word in words:
                    yield from addresses(word)
    text = json.dumps(asdict(scene))
    for word in _WORD.findall(text):
        if word[1:].partition("*")[0] in symbols():  # else it is the attack's to fill in
            yield from addresses(word)


def _literals(text: str) -> Iterator[str]:
    """Every address that stands in a row as it is."""
    for word in _LITERAL.findall(text):
        with suppress(ValueError):
            yield str(ip_address(word))


def _ports(scene: Scene) -> set[int]:
    """Every port that a row asks for, also as one that counts too far takes it."""
    text = json.dumps([dict(step.request) for step in scene.steps])
    written = {int(port) % 65536 for port in _PORT.findall(text)}
    implied = {80 if scheme in {"http", "ws"} else 443 for scheme in _SCHEME.findall(text)}
    return (written | implied) - {0, 53}
