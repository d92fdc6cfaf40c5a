"""Fixtures of more than one file of tests."""

import errno
import socket
from pathlib import Path

import pytest

import attacks
from attacks.tests.answering import OK, OPEN, Proxy
from attacks.tests.inside import FakeLibc, Recorder, load


@pytest.fixture(autouse=True)
def flat(monkeypatch):
    """Attacks import the two shared files from their own folder."""
    monkeypatch.syspath_prepend(str(Path(attacks.__file__).parent))


@pytest.fixture
def syscalls():
    return load("syscalls")


@pytest.fixture
def libc(monkeypatch, syscalls):
    """Replaces the attacks' C library by one that answers as told."""

    def install(**answers):
        fake = FakeLibc(**answers)
        monkeypatch.setattr(syscalls, "libc", lambda: fake)
        return fake

    return install


@pytest.fixture
def free():
    """A TCP and UDP port of 127.0.0.1 where nobody listens."""
    with socket.socket() as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        tcp.bind(("127.0.0.1", 0))
        udp.bind(tcp.getsockname())
        return tcp.getsockname()[1]


@pytest.fixture
def met(tmp_path):
    """As when the harness came and found nobody."""
    (tmp_path / "met").touch()
    return {"ready": str(tmp_path / "ready"), "met": str(tmp_path / "met")}


@pytest.fixture
def no_sockets(monkeypatch):
    """As in a sandbox that refuses every socket."""

    def refuse(*_, **__):
        raise PermissionError(errno.EPERM, "refused")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "socketpair", refuse)


@pytest.fixture
def recorded(monkeypatch):
    """Every socket is a recorder; `made` has them in turn."""
    recorder = type("Fresh", (Recorder,), {})
    monkeypatch.setattr(socket, "socket", recorder)
    return recorder


@pytest.fixture
def proxy(monkeypatch):
    """The environment's proxy; its tunnels lead to an upstream that answers OK."""
    made = Proxy(lambda head: OPEN if head.startswith(b"CONNECT") else OK)
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{made.port}")
    monkeypatch.setattr(load("launcher").Target, "meet", lambda self, moment="", **_: "", raising=False)
    yield made
    made.listener.close()
