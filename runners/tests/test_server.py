"""One proxy process: that it is fresh, re-read, ended and gone, with proxies that are not."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from runners import server
from runners.contract import StartError
from runners.server import GUARD, Server, Site, Told
from runners.tier1.entries import Entry
from runners.tier1.hosts import Name

SECRET = "5e" * 16
LISTS = Told(manifest=(Entry("a.test", Name("a.test"), (443,)),))
OTHERS = Told(manifest=(Entry("b.test", Name("b.test"), (443,)),))

PROXY = """
import os, signal, socket, sys
told = open("lists").read()
def again(*_):
    global told
    told = open("lists").read()
    print("read again", flush=True)
signal.signal(signal.SIGUSR1, again)
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", int(sys.argv[1])))
listener.listen()
while True:
    client, _ = listener.accept()
    with client:
        client.recv(100)
        client.sendall((told + " " + str(os.getpid())).encode())
"""

STRAY = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(60)
    os._exit(0)
"""


class Fake:
    """A proxy that answers with its lists and its process id."""

    signal = int(signal.SIGUSR1)
    re_read = "read again"

    def __init__(self, program: str = PROXY, refuses: str = "") -> None:
        self.text, self.why = program, refuses

    def configuration(self, site: Site, told: Told) -> Mapping[str, str]:
        return {"lists": " ".join(str(entry.host) for entry in told.manifest)}

    def refuses(self, folder: Path) -> str:
        assert (folder / "lists").is_file()
        return self.why

    def program(self, site: Site) -> tuple[str, ...]:
        return (sys.executable, "-I", "-S", "-c", self.text, str(site.port))

    def leaves(self, site: Site) -> tuple[str, ...]:
        return (str(site.folder.parent / "left"), str(site.folder.parent / "never-made"))


@pytest.fixture
def made(tmp_path: Path) -> Iterator[list[Server]]:
    servers: list[Server] = []
    yield servers
    for each in servers:
        each.end()
    assert carrying(tmp_path) == []


def serve(made: list[Server], tmp_path: Path, kind: Fake | None = None) -> Server:
    made.append(Server(kind or Fake(), tmp_path / f"proxy-{len(made)}", SECRET))
    return made[-1]


def ask(port: int) -> list[str]:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(b"?")
        return client.recv(1000).decode().split()


def carrying(folder: Path) -> list[int]:
    """The processes that work there or were started with it, but for this one."""
    found = []
    for process in psutil.process_iter():
        try:
            there = str(folder) in " ".join(process.cmdline()) or process.cwd().startswith(str(folder))
        except psutil.Error:
            continue
        if there and process.pid != os.getpid():
            found.append(process.pid)
    return found


def gone(folder: Path) -> bool:
    end = time.monotonic() + 10
    while carrying(folder) and time.monotonic() < end:
        time.sleep(0.01)
    return not carrying(folder)


def test_a_start_is_a_fresh_process_at_the_same_port(made: list[Server], tmp_path: Path) -> None:
    proxy = serve(made, tmp_path)
    proxy.start(LISTS)
    (proxy.site.folder / "of-before").touch()
    first = ask(proxy.site.port)
    proxy.start(OTHERS)
    second = ask(proxy.site.port)
    assert (first[0], second[0]) == ("a.test", "b.test")
    assert first[1] != second[1]
    assert not psutil.pid_exists(int(first[1]))
    assert not (proxy.site.folder / "of-before").exists()


def test_a_change_reaches_the_running_process(made: list[Server], tmp_path: Path) -> None:
    proxy = serve(made, tmp_path)
    proxy.start(LISTS)
    before = ask(proxy.site.port)
    assert proxy.change(OTHERS) == ""
    assert ask(proxy.site.port) == ["b.test", before[1]]
    assert proxy.change(LISTS) == ""
    assert ask(proxy.site.port) == before
    assert "read again" in proxy.log()


def test_what_the_program_refuses_changes_nothing(made: list[Server], tmp_path: Path) -> None:
    proxy = serve(made, tmp_path, Fake(refuses="no such word"))
    proxy.start(LISTS)
    before = ask(proxy.site.port)
    assert proxy.change(OTHERS) == "no such word"
    assert ask(proxy.site.port) == before
    assert (proxy.site.folder / "lists").read_text() == "a.test"
    assert sorted(path.name for path in proxy.site.folder.iterdir()) == ["lists", "said"]


def test_two_have_ports_of_their_own(made: list[Server], tmp_path: Path) -> None:
    one = serve(made, tmp_path)
    one.start(LISTS)
    other = serve(made, tmp_path)
    other.start(OTHERS)
    assert one.site.port != other.site.port
    assert (ask(one.site.port)[0], ask(other.site.port)[0]) == ("a.test", "b.test")


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("import sys; sys.exit('bad word in line 3')", r"ended with 1 before it answers: bad word in line 3"),
        ("import time; print('waiting', flush=True); time.sleep(60)", r"in 0 s never answers: waiting"),
        ("import os, signal; os.kill(os.getpid(), 9)", r"ended with 137 before it answers: it said nothing"),
    ],
)
def test_one_that_never_answers_is_a_start_error(
    program: str, says: str, made: list[Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "sleep" in program:
        monkeypatch.setattr(server, "PATIENCE", 0.4)
    with pytest.raises(StartError, match=says):
        serve(made, tmp_path, Fake(program)).start(LISTS)
    assert gone(tmp_path)


def test_one_that_never_reads_again_has_not_changed(
    made: list[Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = serve(made, tmp_path, Fake(PROXY.replace("read again", "heard")))
    proxy.start(LISTS)
    monkeypatch.setattr(server, "PATIENCE", 0.4)
    with pytest.raises(StartError, match="never reads its lists again"):
        proxy.change(OTHERS)


def test_one_that_ends_at_a_change_is_a_start_error(made: list[Server], tmp_path: Path) -> None:
    proxy = serve(
        made, tmp_path, Fake(PROXY.replace("    global told", "    sys.exit('bungled')\n    global told"))
    )
    proxy.start(LISTS)
    with pytest.raises(StartError, match="ended with 1 before it reads its lists again: bungled"):
        proxy.change(OTHERS)


def test_nothing_that_it_started_is_left(made: list[Server], tmp_path: Path) -> None:
    proxy = serve(made, tmp_path, Fake(STRAY + PROXY))
    proxy.start(LISTS)
    (tmp_path / "left").touch()
    assert len(carrying(tmp_path)) == 3, "the guard, the proxy, and what it left"
    proxy.end()
    assert carrying(tmp_path) == []
    assert not (tmp_path / "left").exists()
    proxy.end()


def test_it_ends_with_whoever_started_it(tmp_path: Path) -> None:
    """However that one ended."""
    (tmp_path / "proxy.py").write_text(PROXY)
    starter = textwrap.dedent(f"""
        import subprocess, sys, time
        guard = [sys.executable, "-I", "-S", {str(GUARD)!r}, "left", "--", sys.executable, "proxy.py", "0"]
        kept = subprocess.Popen(guard, stdin=subprocess.PIPE, start_new_session=True)
        print("started", flush=True)
        time.sleep(60)
    """)
    (tmp_path / "lists").touch()
    (tmp_path / "left").touch()
    with subprocess.Popen([sys.executable, "-c", starter], cwd=tmp_path, stdout=subprocess.PIPE) as harness:
        assert harness.stdout
        harness.stdout.readline()
        deadline = time.monotonic() + 10
        while len(carrying(tmp_path)) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(carrying(tmp_path)) == 3, "the starter, the guard and the proxy"
        harness.kill()
        harness.wait()
        assert gone(tmp_path)
        assert not (tmp_path / "left").exists()


def test_a_log_without_end_ends_it(made: list[Server], tmp_path: Path) -> None:
    endless = "import sys\nwhile True: sys.stdout.write('x' * 99999)\n"
    with pytest.raises(StartError, match="ended with"):
        serve(made, tmp_path, Fake(endless)).start(LISTS)
    assert (made[0].site.folder / "said").stat().st_size <= 16 << 20
    assert len(made[0].log()) == server.MOST


def test_a_taken_port_is_passed_over(
    made: list[Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        monkeypatch.setattr(server, "PORTS", range(port, port + 1))
        with pytest.raises(StartError, match="no port from"):
            Server(Fake(), tmp_path, SECRET)
        monkeypatch.setattr(server, "PORTS", range(port, port + 40))
        assert serve(made, tmp_path).site.port > port
