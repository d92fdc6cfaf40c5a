"""The proxy's process as a runner has it: asked, changed, let go of; on loopback by detours."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_address

import psutil
import pytest

from runners.contract import Denial, Egress, Proposal, StartError
from runners.tier1 import serving
from runners.tier1.serving import Serving
from runners.tier1.tests.bed import PUBLIC


@pytest.fixture(scope="module")
def echo() -> Iterator[tuple[str, int]]:
    """A server that says what it is said, for any number of connections."""

    def serve(sock: socket.socket) -> None:
        with sock:
            while data := sock.recv(4096):
                sock.sendall(data)

    def accept() -> None:
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(sock,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept)
        thread.start()
        yield listener.getsockname()
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.fixture(scope="module")
def egress(echo: tuple[str, int]) -> Egress:
    """An address is listed, so that no name is asked for."""
    return Egress(manifest=(PUBLIC,), detours={f"{PUBLIC}:443": echo})


@pytest.fixture(scope="module")
def started(egress: Egress) -> Iterator[tuple[Serving, tuple[str, int]]]:
    listener = socket.create_server(("127.0.0.1", 0))
    at = listener.getsockname()
    made = Serving.start(egress, listener, own=(ip_address("10.77.0.1"), ip_address("fd12::1")))
    yield made, at
    made.close()


@pytest.fixture
def proxy(started: tuple[Serving, tuple[str, int]], egress: Egress) -> tuple[Serving, tuple[str, int]]:
    started[0].renew(egress)
    return started


def ask(at: tuple[str, int], target: str) -> tuple[socket.socket, bytes]:
    sock = socket.create_connection(at, timeout=5)
    sock.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    return sock, sock.recv(4096).split(b"\r\n")[0]


def status(at: tuple[str, int], target: str) -> bytes:
    sock, line = ask(at, target)
    sock.close()
    return line.split()[1]


def test_what_it_did_is_told(proxy: tuple[Serving, tuple[str, int]]) -> None:
    running, at = proxy
    assert status(at, f"{PUBLIC}:443") == b"200"
    assert status(at, "other.test:8443") == b"403"
    (denial,) = running.denials()
    assert denial == Denial(
        kind="unlisted", host="other.test", port=8443, remedy=("manifest", "tenant"), fix=denial.fix
    )
    assert running.proposals() == (Proposal(lists=("manifest", "tenant"), entry="other.test:8443"),)
    assert running.dials() == (f"{PUBLIC}:443",)
    assert '"event": "refused"' in running.log()
    assert running.neighbour == ""


def test_the_nodes_own_address_is_refused(proxy: tuple[Serving, tuple[str, int]], egress: Egress) -> None:
    running, at = proxy
    running.renew(
        replace(egress, tenant=("10.77.0.1",), detours={"10.77.0.1:443": egress.detours[f"{PUBLIC}:443"]})
    )
    assert status(at, "10.77.0.1:443") == b"403"
    assert [each.address_class for each in running.denials()] == ["self"]


def test_a_change_is_in_force_when_it_returns(proxy: tuple[Serving, tuple[str, int]], egress: Egress) -> None:
    running, at = proxy
    pid = running.pid
    sock, line = ask(at, f"{PUBLIC}:443")
    assert b"200" in line
    assert len(running.change(replace(egress, tenant=("*", "x y")))) == 2
    sock.sendall(b"still")
    assert sock.recv(10) == b"still"
    assert running.change(replace(egress, manifest=("x.test",))) == ()
    with sock:
        sock.sendall(b"late")
        assert lost(sock)
    assert status(at, f"{PUBLIC}:443") == b"403"
    running.renew(egress)
    assert (running.denials(), running.dials(), running.pid) == ((), (), pid)
    assert status(at, f"{PUBLIC}:443") == b"200"


def lost(sock: socket.socket) -> bool:
    try:
        return sock.recv(10) == b""
    except ConnectionError:
        return True


def test_the_neighbour_has_lists_of_its_own(proxy: tuple[Serving, tuple[str, int]], egress: Egress) -> None:
    running, at = proxy
    both = replace(egress, manifest=("x.test",), neighbour=egress)
    running.renew(both)
    host, _, port = running.neighbour.removeprefix("http://").partition(":")
    assert status(at, f"{PUBLIC}:443") == b"403"
    assert status((host, int(port)), f"{PUBLIC}:443") == b"200"
    assert [each.kind for each in running.denials()] == ["unlisted"]
    assert running.dials() == ()
    assert status(at, f"{host}:{port}") == b"403"
    assert len(running.change(replace(both, tenant=(PUBLIC,), neighbour=Egress(tenant=("*",))))) == 1
    assert status(at, f"{PUBLIC}:443") == b"403"  # refused whole
    running.renew(egress)
    assert running.neighbour == ""
    assert status((host, int(port)), f"{PUBLIC}:443") == b"403"


def test_the_listener_may_come_later(egress: Egress) -> None:
    ours, theirs = socket.socketpair()
    running = Serving.start(egress, theirs)
    try:
        assert running.denials() == ()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            at = listener.getsockname()
            socket.send_fds(ours, [b"x"], [listener.fileno()])
        assert status(at, "other.test:443") == b"403"
    finally:
        ours.close()
        running.close()


def test_a_sandbox_that_never_came_is_no_error(egress: Egress) -> None:
    ours, theirs = socket.socketpair()
    running = Serving.start(egress, theirs)
    ours.close()
    assert running.change(egress) == ()
    process = psutil.Process(running.pid)
    assert not process.children()
    running.close()
    assert not process.is_running()
    running.close()


def test_a_process_that_is_gone_says_so(egress: Egress) -> None:
    running = Serving.start(egress, socket.create_server(("127.0.0.1", 0)))
    os.kill(running.pid, 9)
    with pytest.raises(StartError, match=rf"pid {running.pid}, exit code -9.* 'denials'"):
        running.denials()
    running.close()


def test_a_process_that_cannot_begin_says_why(egress: Egress) -> None:
    with pytest.raises(StartError, match="No module named 'nowhere'"):
        Serving.start(
            egress, socket.create_server(("127.0.0.1", 0)), program=(sys.executable, "-c", "import nowhere")
        )


def test_a_process_that_does_not_answer_is_not_waited_for(
    egress: Egress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "SECONDS", 0.1)
    monkeypatch.setattr(serving, "_END", 0.1)
    program = (sys.executable, "-c", "import time; time.sleep(30)")
    with pytest.raises(StartError, match=r"did not answer 'start' within 0\.1 s"):
        Serving.start(egress, socket.create_server(("127.0.0.1", 0)), program=program)


def test_a_question_that_is_none(proxy: tuple[Serving, tuple[str, int]]) -> None:
    running, _ = proxy
    for do, facts in (("sing", {}), ("start", {"egress": {}}), ("renew", {"egress": {}})):
        with pytest.raises(StartError, match=f"cannot {do}: "):
            running.ask(do, **facts)
    assert running.denials() == ()


def test_the_process_is_the_sandboxs_alone() -> None:
    code = "import sys, runners.tier1.serve; sys.exit('matrix' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
