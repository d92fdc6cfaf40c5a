"""A real proxy in a network world: what it makes of a few calls. `matrix.world.call` runs `play` there."""

from __future__ import annotations

import base64
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

import psutil
import pytest

from matrix import world
from matrix.internet.stage import Stage
from matrix.scene import Answer, Scene
from runners.contract import Egress, Found, Identity
from runners.forward import Behind, Forward
from runners.registry import runner_class
from runners.tests.bench import bench, see

TOKEN = "em" + "0" * 32
NAMES = {
    "api.allowed.test": "$PUB4_A",
    "deep.api.allowed.test": "$PUB4_A",
    "other.unlisted.test": "$PUB4_B",
    "wiki.corp.test": "$PRIV10",
    "svc.allowed.test": "$LOOP4",
}
LISTS = Egress(manifest=("api.allowed.test", "wiki.corp.test", "svc.allowed.test"))


@dataclass(frozen=True)
class Call:
    """One request, and under what lists."""

    ask: str  # host:port for CONNECT, else a URL
    change: Egress | None = None  # before it
    renew: Egress | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


FRESH = tuple(
    Call(ask)
    for ask in (
        *("api.allowed.test:443", "http://api.allowed.test/", "api.allowed.test:8443"),
        *("deep.api.allowed.test:443", "other.unlisted.test:443", "http://other.unlisted.test/"),
        *("wiki.corp.test:443", "svc.allowed.test:80"),
    )
)
"""What every proxy is asked under LISTS: listed, by another port, below, unlisted, private, loopback."""

CHANGED = (
    Call("other.unlisted.test:443", change=Egress(manifest=("other.unlisted.test",))),
    Call("api.allowed.test:443"),
)
RENEWED = (
    Call("wiki.corp.test:443", renew=Egress(tenant=("wiki.corp.test", "svc.allowed.test"))),
    Call("svc.allowed.test:80"),
)


def found(name: str, **options: object) -> Forward:
    """The runner; the test is skipped where its program or a world is missing."""
    kind = runner_class(name)
    assert kind is not None
    made = kind(options)
    here = made.find(Identity.current())
    if not isinstance(here, Found):
        pytest.skip(f"{here.what}: {here.fix}")
    if isinstance(where := world.standing(), world.Impossible):
        pytest.skip(where.why)
    assert isinstance(made, Forward)
    return made


def played(runner: Forward, egress: Egress, *calls: Call) -> list[str]:
    """What came of each call, as "status", with the address behind it where it arrived."""
    return world.call(play, runner, egress, calls)


def play(runner: Forward, egress: Egress, calls: Sequence[Call]) -> list[str]:
    """In the world: start the proxy beside a command, ask, end both, and see that nothing is left."""
    stage = Stage.standing()
    answers = {name: (Answer(addresses={"A": (word,)}),) for name, word in NAMES.items()}
    stage.begin(Scene(steps=(), answers=answers), TOKEN)
    with bench(runner, Identity.current()) as made:
        policy = replace(made.policy(), egress=egress)
        running = made.start("import os; print(os.environ['https_proxy']); os.read(0, 1)", policy=policy)
        assert isinstance(running, Behind)
        try:
            came = [_come(running, runner, call) for call in calls]
        finally:
            ended = see(running)
        assert ended.output.decode().strip().startswith("http://")
        assert left(str(made.run)) == []
        assert [name for name in os.listdir("/dev/shm") if running._proxy.site.secret[:16] in name] == []
    return came


def left(folder: str) -> list[str]:
    """The command lines of other processes that name it."""
    lines = []
    for process in psutil.process_iter():
        try:
            lines.append(" ".join(process.cmdline()) if process.pid != os.getpid() else "")
        except psutil.Error:
            continue
    return [line for line in lines if folder in line]


def _come(running: Behind, runner: Forward, call: Call) -> str:
    if call.renew:
        running.renew(call.renew)
    if call.change:
        assert running.change(call.change) == ()
    url = urlsplit(runner.url(running._proxy.site))
    user = base64.b64encode(f"{url.username}:{url.password}".encode()).decode()
    login = f"Proxy-Authorization: Basic {user}\r\n" if url.username else ""
    more = "".join(f"{name}: {value}\r\n" for name, value in call.headers.items())
    with socket.create_connection((url.hostname, url.port), timeout=10) as client:
        if "://" in call.ask:
            host = "" if "Host" in call.headers else f"Host: {urlsplit(call.ask).netloc}\r\n"
            client.sendall(
                f"GET {call.ask} HTTP/1.1\r\n{host}{login}{more}Connection: close\r\n\r\n".encode()
            )
            return _answer(client)
        client.sendall(f"CONNECT {call.ask} HTTP/1.1\r\nHost: {call.ask}\r\n{login}{more}\r\n".encode())
        said = _answer(client)
        if said == "200":
            client.sendall(b"GET / HTTP/1.1\r\nHost: inside.test\r\nConnection: close\r\n\r\n")
            said = _answer(client)
        return said


def _answer(client: socket.socket) -> str:
    """The status, and where the request arrived, by the server's own word."""
    said = b""
    while b"\r\n\r\n" not in said and (more := client.recv(65536)):
        said += more
    status = said.split(b" ")[1].decode() if said.startswith(b"HTTP/") else "closed"
    if b"arrived" not in said and status == "200" and b"ength: " in said:
        said += client.recv(65536)
    _, arrived, rest = said.partition(b"arrived ")
    return f"{status} {rest.split(b' ')[0].decode()}" if arrived else status
