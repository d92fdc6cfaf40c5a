"""The world has every address that rows name, and no way out; whoever is outside is told so."""

import json
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from matrix import locate, world
from matrix.tests import network_samples
from runners import ways_out

ULA = "fd" + "0" * 30
HEAD = "Iface\tDestination\tGateway\tFlags\n"


def waits(process):
    """Whether it has entered and is in the call: it has a network namespace of its own."""
    own = Path(f"/proc/{process.pid}/ns/net").readlink() != Path("/proc/self/ns/net").readlink()
    return own and process.status() == psutil.STATUS_SLEEPING


@pytest.fixture(scope="module")
def possible():
    match world.standing():
        case world.Impossible(why=why):
            pytest.skip(why)
        case _:
            return


@pytest.fixture
def tables(monkeypatch):
    """Kernel tables of our own."""
    given = {"route": HEAD, "ipv6_route": ""}
    monkeypatch.setattr(ways_out, "_lines", lambda path: given[path.rpartition("/")[2]].splitlines())
    return given


def test_loopback_alone_is_no_way_out(tables):
    tables["route"] += "lo\t0000007F\t00000000\t0001\n"
    tables["ipv6_route"] = f"{'0' * 32} 00 {'0' * 32} 00 {'0' * 32} ffffffff 1 0 00200200       lo\n"
    assert ways_out.leads_out() == ""


@pytest.mark.parametrize(
    ("table", "line", "told"),
    [
        ("route", "eth0\t00000000\t010200C0\t0003\n", "IPv4 route 0.0.0.0 by 192.0.2.1 on eth0"),
        ("route", "docker0\t000011AC\t00000000\t0001\n", "IPv4 route 172.17.0.0 by 0.0.0.0 on docker0"),
        ("ipv6_route", f"{ULA} 40 {'0' * 32} 00 {'0' * 32} 100 1 0 1 eth0\n", f"IPv6 route {ULA}/64 on eth0"),
    ],
)
def test_any_other_route_is_one(tables, table, line, told):
    tables[table] += line
    assert ways_out.leads_out().startswith(told)


class Libc:
    """Answers unshare() and mount() without doing anything."""

    def __init__(self, unshare):
        self.unshare = lambda flags: unshare
        self.mount = lambda *_: 0


@pytest.fixture
def alone(monkeypatch):
    """As a process with one thread, whose calls change nothing."""
    monkeypatch.setattr(world.os, "listdir", lambda _: ["1"])
    for name in ("_furnish", "_write"):
        monkeypatch.setattr(world, name, lambda *_: None)
    monkeypatch.setattr(world.resolution, "point_here", lambda: None)
    return lambda answer: monkeypatch.setattr(world.ctypes, "CDLL", lambda *_, **__: Libc(answer))


def test_a_namespace_that_leads_out_is_not_entered(alone, monkeypatch):
    alone(0)
    monkeypatch.setattr(world, "leads_out", lambda: "a route on eth0")
    with pytest.raises(world.WorldError, match=r"leads out .a route on eth0."):
        world.enter()


def test_a_process_with_threads_does_not_enter():
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        with pytest.raises(world.WorldError, match="before a thread is started"):
            world.enter()
    finally:
        done.set()
        thread.join()


def test_a_refused_unshare_says_what_helps(alone, monkeypatch):
    alone(-1)
    monkeypatch.setattr(world.os, "geteuid", lambda: 1000)
    with pytest.raises(world.WorldError, match=r"unshare: .*user\.max_user_namespaces"):
        world.enter()


def test_elsewhere_than_linux_there_is_none(monkeypatch):
    monkeypatch.setattr(world.sys, "platform", "darwin")
    assert world.standing() == world.Impossible(why="darwin has no network namespaces")


@pytest.mark.usefixtures("possible")
class TestEntered:
    """In a child, so that the tests themselves stay where they are."""

    def test_it_is_recognised_from_inside(self):
        assert world.call(world.standing) == world.Inside()

    def test_it_has_every_address(self):
        missing = world.call(network_samples.furnished)
        if not Path("/proc/self/net/if_inet6").exists():
            missing.remove(world.ULA)
        assert missing == []

    def test_we_stay_outside(self):
        before = network_samples.namespaces()
        inside = world.call(network_samples.namespaces)
        assert network_samples.namespaces() == before
        assert not set(inside) & set(before)

    def test_what_is_raised_there_is_raised_here(self):
        with pytest.raises(LookupError, match="from the world"):
            world.call(network_samples.fail)

    def test_whoever_is_in_it_ends_with_its_parent(self):
        code = "import time; from matrix import world; print(flush=True); world.call(time.sleep, 60)"
        parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        parent.stdout.read(1)
        end = time.monotonic() + 10
        while not (inside := [each for each in psutil.Process(parent.pid).children() if waits(each)]):
            assert time.monotonic() < end
            time.sleep(0.02)
        parent.kill()
        parent.wait()
        parent.stdout.close()
        assert psutil.wait_procs(inside, timeout=10)[1] == []

    def test_an_answer_may_be_more_than_a_pipe_holds(self):
        assert len(world.call(bytes, 1 << 20)) == 1 << 20

    @pytest.mark.skipif(not shutil.which("ip"), reason="needs iproute2 to make another link")
    def test_another_link_is_noticed(self):
        before, after = world.call(network_samples.with_another_link)
        assert before == ""
        assert after == "IPv4 route 198.51.100.0 by 0.0.0.0 on one"


def test_every_address_of_a_world_row_is_furnished():
    named = set()
    for section in ("loopback", "raw-socket"):
        rows = json.loads((locate.testdata() / "cases" / f"{section}.json").read_text())["cases"]
        for row in (row for row in rows if row.get("world")):
            told = {**row.get("args", {}), **row.get("plant", {})}
            named |= {told[key].split("%")[0] for key in ("address", "source", "connect") if key in told}
    known = {*world.OWN, *world.GATEWAYS, world.ULA, world.LINK_LOCAL, "127.0.0.1", "::1"}
    assert named <= known
    assert set(world.GATEWAYS) <= named, "an address that no row uses"
