"""Each network witness sees its canary cross, and nothing else, and knows when it is blind."""

import importlib
import json
import socket
from pathlib import Path

import pytest

from matrix import netlink, world
from matrix.evidence import Acted, Attempted, Nothing, Seen
from matrix.meeting import Meeting
from matrix.tests.network_samples import ground
from matrix.witnesses import routed, udp
from matrix.witnesses.contract import Unplantable


@pytest.fixture
def plant(tmp_path):
    """Plants a witness by its name; closes it afterwards."""
    made = []

    def planted(name, **asked):
        witness = importlib.import_module(f"matrix.witnesses.{name}").Witness(ground(tmp_path, **asked))
        made.append(witness)
        return witness, witness.plant().told

    yield planted
    for witness in made:
        witness.close()


def acted(trace):
    return Attempted(said=Acted(trace=trace))


def send(kind, place, data, family=socket.AF_INET):
    with socket.socket(family, kind) as own:
        own.connect(place)
        own.send(data)


def send_unix(kind, told, data):
    place = told.get("path") or "\0" + told["name"]
    send(getattr(socket, f"SOCK_{kind.upper()}"), place, data, socket.AF_UNIX)


WAYS = [
    ("tcp", {}, lambda told, data: send(socket.SOCK_STREAM, ("127.0.0.1", told["port"]), data)),
    ("udp", {}, lambda told, data: send(socket.SOCK_DGRAM, ("127.0.0.1", told["port"]), data)),
    *(
        ("unix", {"kind": kind, **more}, lambda told, data, kind=kind: send_unix(kind, told, data))
        for kind in ("stream", "dgram", "seqpacket")
        for more in ({}, {"abstract": True}, {"workspace": True})
    ),
]


@pytest.mark.parametrize(("name", "asked", "leave"), WAYS)
class TestListeners:
    def test_the_canary_is_seen_and_stays_seen(self, plant, name, asked, leave):
        witness, told = plant(name, **asked)
        assert witness.look(None) == Nothing()
        leave(told, told["token"].encode())
        assert isinstance(witness.look(None), Seen)
        assert isinstance(witness.look(None), Seen)

    def test_other_bytes_are_nothing(self, plant, name, asked, leave):
        witness, told = plant(name, **asked)
        leave(told, b"hello, is anybody there?")
        assert witness.look(None) == Nothing()
        assert witness.check() == ""
        assert witness.look(None) == Nothing()

    def test_a_dead_listener_is_blind(self, plant, name, asked, leave):
        witness, _ = plant(name, **asked)
        (witness.ear.socket if name == "udp" else witness.listener).close()
        assert witness.check()


def test_a_connection_without_bytes_is_nothing(plant):
    witness, told = plant("tcp")
    socket.create_connection(("127.0.0.1", told["port"])).close()
    assert witness.look(None) == Nothing()


def test_a_protocol_that_the_kernel_lacks_is_unplantable(plant):
    with pytest.raises(Unplantable, match="by protocol 250"):
        plant("tcp", protocol=250)


def test_an_address_that_is_not_ours_is_unplantable(plant):
    with pytest.raises(Unplantable, match=r"192\.0\.2\.7"):
        plant("udp", bind="192.0.2.7")


def test_an_address_is_routed_here_in_a_world_alone(plant, monkeypatch):
    monkeypatch.setattr(routed.world, "leads_out", lambda: "a route on eth0")
    for name in ("tcp", "udp"):
        with pytest.raises(Unplantable, match=r"192\.0\.2\.7 is routed here only in a network world"):
            plant(name, bind="192.0.2.7", route=True)


def test_two_arms_share_a_port_and_each_sees_its_own(plant):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    first, told = plant("udp", port=free)
    second, _ = plant("udp", port=free)
    send(socket.SOCK_DGRAM, ("127.0.0.1", free), told["token"].encode())
    assert second.look(None) == Nothing()
    assert isinstance(first.look(None), Seen)
    first.ear.leave()
    assert second.check() == ""
    second.ear.leave()
    first.ear = second.ear = None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as later:
        later.bind(("127.0.0.1", free))


def far_and_wide(place):
    """In a world: whether a witness at that place hears itself, and a datagram from the loopback."""
    ear = udp.Ear(place, 5353)
    ear.speak("own")
    return ear.hears("own")


@pytest.mark.parametrize("place", ["224.0.0.251", udp.BROADCAST])
def test_groups_and_broadcasts_are_heard_on_the_world_s_loopback(place):
    if not isinstance(world.standing(), world.Possible):
        pytest.skip("no network world here")
    assert world.call(far_and_wide, place)


def test_a_removed_path_makes_a_unix_witness_blind(plant):
    witness, told = plant("unix")
    Path(told["path"]).unlink()
    assert "nobody listens" in witness.check()


class TestInbound:
    def test_the_token_is_fetched_from_a_listener_at_the_place(self, plant):
        witness, told = plant("inbound")
        with socket.create_server(("127.0.0.1", told["port"])) as listener:
            Path(told["ready"]).touch()
            witness.look(None)
            guest, _ = listener.accept()
            guest.sendall(told["token"].encode())
            guest.close()
        assert isinstance(witness.look(None), Seen)
        assert Path(told["met"]).exists()

    def test_nobody_there_is_nothing_and_the_attack_goes_on(self, plant):
        witness, told = plant("inbound", abstract=True)
        Path(told["ready"]).touch()
        assert witness.look(None) == Nothing()
        assert Path(told["met"]).exists()
        assert witness.check() == ""

    def test_it_does_not_connect_before_the_attack_is_ready(self, plant):
        witness, told = plant("inbound")
        witness.look(None)
        assert not Path(told["met"]).exists()

    def test_somebody_else_at_the_place_is_blind(self, plant):
        witness, told = plant("inbound")
        with socket.create_server(("127.0.0.1", told["port"])):
            assert "somebody else" in witness.check()


class TestEchoes:
    """What is read counts only when the trace holds what nobody was told."""

    @pytest.mark.parametrize("table", ["unix", "tcp"])
    def test_a_listed_socket(self, plant, table):
        witness, told = plant("socket_table", table=table)
        assert witness.name not in json.dumps(dict(told))
        assert witness.look(acted("0.0.0.0:80\nem00")) == Nothing()
        assert witness.check() == ""
        assert isinstance(witness.look(acted(f"other {witness.name}")), Seen)

    def test_a_socket_that_is_gone_is_blind(self, plant):
        witness, _ = plant("socket_table", table="tcp")
        witness.listener.close()
        assert "does not list" in witness.check()

    def test_an_overheard_datagram(self, plant):
        witness, told = plant("overheard")
        Path(told["ready"]).touch()
        assert witness.look(None) == Nothing()
        assert witness.ours.recv(4096) == witness.ground.token.encode()
        assert witness.look(acted("something else")) == Nothing()
        assert witness.check() == ""
        assert isinstance(witness.look(acted(f"{witness.ground.token} own")), Seen)

    def test_a_descriptor_that_is_handed_in(self, plant):
        witness, _ = plant("descriptor_giver")
        assert witness.look(acted("")) == Nothing()
        assert witness.check() == ""
        assert isinstance(witness.look(acted(witness.ground.token)), Seen)
        witness.listener.close()
        assert "nobody hands out" in witness.check()


class TestMeeting:
    def test_a_planted_link_is_not_followed(self, tmp_path):
        meeting = Meeting(tmp_path)
        (tmp_path / "ready").touch()
        (tmp_path / "met").symlink_to(tmp_path / "elsewhere")
        assert not meeting.due()
        with pytest.raises(FileExistsError):
            meeting.acknowledge()
        assert not (tmp_path / "elsewhere").exists()

    def test_a_moment_has_files_of_its_own_and_an_answer_that_is_whole(self, tmp_path):
        first, second = Meeting(tmp_path), Meeting(tmp_path, "1")
        (tmp_path / "ready-1").touch()
        assert (first.due(), second.due()) == (False, True)
        second.acknowledge("http://127.0.0.1:1")
        assert not second.due()
        assert (tmp_path / "met-1").read_text() == "http://127.0.0.1:1"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["met-1", "ready-1"]

    def test_nobody_holds_a_lock(self, tmp_path):
        assert Meeting(tmp_path).holder() == 0
        (tmp_path / "ready").touch()
        assert Meeting(tmp_path).holder() == 0


def capture(directory):
    """In the world: what the capture says of a datagram that holds the canary, and of one that does not."""
    witness = importlib.import_module("matrix.witnesses.packet").Witness(ground(Path(directory)))
    told = witness.plant().told
    send(socket.SOCK_DGRAM, ("127.0.0.1", 9), b"anything")
    nothing, fine = witness.look(None), witness.check()
    send(socket.SOCK_DGRAM, ("127.0.0.1", 9), told["token"].encode())
    seen = witness.look(None)
    witness.capture.ins.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 0)
    for _ in range(100):
        send(socket.SOCK_DGRAM, ("127.0.0.1", 9), bytes(1000))
    flooded = witness.check()
    witness.close()
    return nothing, fine, seen, flooded


def addresses(directory):
    """In the world: what the witness says before and after its address is given, and what is left of it."""
    module = importlib.import_module("matrix.witnesses.interface_address")
    witness = module.Witness(ground(Path(directory)))
    address = witness.plant().told["address"]
    before, fine = witness.look(None), witness.check()
    netlink.add_address(address, 128)
    after = witness.look(None)
    witness.close()
    return before, fine, after, module._has(witness.packed)


@pytest.fixture
def possible():
    if isinstance(there := world.standing(), world.Impossible):
        pytest.skip(there.why)


@pytest.mark.usefixtures("possible")
class TestInTheWorld:
    def test_a_capture_sees_its_canary_and_counts_what_it_lost(self, tmp_path):
        pytest.importorskip("scapy", reason="the extra [packet] is not installed")
        nothing, fine, seen, flooded = world.call(capture, str(tmp_path))
        assert (nothing, fine) == (Nothing(), "")
        assert isinstance(seen, Seen)
        assert "lost" in flooded

    def test_an_added_address_is_seen_and_taken_away(self, tmp_path):
        before, fine, after, left = world.call(addresses, str(tmp_path))
        assert (before, fine, left) == (Nothing(), "", False)
        assert isinstance(after, Seen)


def test_without_scapy_the_command_that_brings_it_is_told(plant, monkeypatch):
    monkeypatch.setitem(importlib.import_module("sys").modules, "scapy.layers.l2", None)
    with pytest.raises(Unplantable, match=r"pip install 'escape-matrix\[packet\]'"):
        plant("packet")
