"""The network attacks, each against listeners of our own and against refusals made up for the test."""

import errno
import importlib
import os
import socket
import struct
import sys
from pathlib import Path

import pytest

import attacks

TOKEN = "em0123456789abcdef0123456789abcdef"
# An attack lives in a forked child, whose end closes what it opened; here that child is this process.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux's own interfaces")


@pytest.fixture(autouse=True)
def flat(monkeypatch):
    """Attacks import the two shared files from their own folder."""
    monkeypatch.syspath_prepend(str(Path(attacks.__file__).parent))


def run(attack, platform="linux", **told):
    """(what it said, the facts, the steps), as the in-sandbox launcher would report them."""
    launcher = importlib.import_module("launcher")
    steps = []
    target = launcher.Target({"token": TOKEN, **told}, lambda kind, step: steps.append(step), platform)
    said, facts = launcher.judge_nothing(importlib.import_module(attack).attempt, target)
    return said, facts, steps


@pytest.fixture
def free():
    """A TCP and UDP port of 127.0.0.1 where nobody listens."""
    with socket.socket() as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        tcp.bind(("127.0.0.1", 0))
        udp.bind(tcp.getsockname())
        return tcp.getsockname()[1]


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.settimeout(2)
        yield made


def received(listener):
    guest, _ = listener.accept()
    with guest:
        guest.settimeout(2)
        return guest.recv(4096).decode()


@pytest.fixture
def no_sockets(monkeypatch):
    """As in a sandbox that refuses every socket."""

    def refuse(*_, **__):
        raise PermissionError(errno.EPERM, "refused")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "socketpair", refuse)


class Recorder:
    """A socket that keeps what is asked of it and never sends."""

    made = ()

    def __init__(self, *arguments):
        self.calls = [("socket", *arguments)]
        type(self).made = (*self.made, self)

    def __getattr__(self, name):
        def call(*arguments):
            self.calls.append((name, *arguments))
            if name.startswith("recv"):
                raise TimeoutError(errno.ETIMEDOUT, "nothing came")
            return 0

        return call


@pytest.fixture
def recorded(monkeypatch):
    recorder = type("Fresh", (Recorder,), {})
    monkeypatch.setattr(socket, "socket", recorder)
    return recorder


class TestTcp:
    @pytest.mark.parametrize("address", ["127.0.0.1", "127.1", "2130706433", "0.0.0.0", "::ffff:127.0.0.1"])
    def test_each_spelling_arrives(self, listener, address):
        said, _, steps = run("lo_tcp", address=address, port=listener.getsockname()[1])
        assert (said, steps) == ("acted", ["resolve", "socket", "connect", "send"])
        assert received(listener) == TOKEN

    def test_a_name_is_looked_up_in_the_file_alone(self, monkeypatch):
        lo_tcp = importlib.import_module("lo_tcp")
        monkeypatch.setattr(lo_tcp, "open", lambda _: open(os.devnull), raising=False)
        said, facts, steps = run("lo_tcp", address="localhost", port=1)
        assert (said, steps) == ("unsupported", ["resolve"])
        assert "localhost" in facts["why"]

    def test_nobody_listening_is_a_refusal_at_connect(self, free):
        said, facts, steps = run("lo_tcp", address="127.0.0.1", port=free)
        assert (said, facts["errno"], steps[-1]) == ("refused", errno.ECONNREFUSED, "connect")

    def test_the_protocol_is_asked_for(self, recorded):
        run("lo_tcp", address="127.0.0.1", port=1, protocol=262)
        assert recorded.made[0].calls[0] == ("socket", socket.AF_INET, socket.SOCK_STREAM, 262)

    @LINUX
    def test_fast_open_never_calls_connect(self, recorded):
        run("lo_fastopen", address="127.0.0.1", port=7)
        sent = ("sendto", TOKEN.encode(), 0x20000000, ("127.0.0.1", 7))
        assert [call[0] for call in recorded.made[0].calls] == ["socket", "sendto", "close"]
        assert sent in recorded.made[0].calls

    @LINUX
    def test_io_uring_arrives(self, listener):
        said, facts, steps = run("lo_io_uring", address="127.0.0.1", port=listener.getsockname()[1])
        if said == "refused" and steps == ["io_uring_setup"]:
            pytest.skip(f"no io_uring here: {facts['text']}")
        assert (said, steps) == ("acted", ["io_uring_setup", "OP_SOCKET", "OP_CONNECT", "OP_SEND"])
        assert received(listener) == TOKEN

    @LINUX
    def test_io_uring_reports_the_error_of_its_entry(self, free):
        said, facts, steps = run("lo_io_uring", address="127.0.0.1", port=free)
        if steps != ["io_uring_setup"]:
            assert (said, facts["errno"], steps[-1]) == ("refused", errno.ECONNREFUSED, "OP_CONNECT")

    @LINUX
    def test_own_addresses_are_tried(self, listener):
        said, facts, _ = run("lo_own_addresses", port=listener.getsockname()[1])
        assert said == "acted"
        assert "127.0.0.1" in facts["trace"].split()
        assert received(listener) == TOKEN

    def test_gateways_are_read_in_the_kernel_s_order_of_bytes(self, monkeypatch, tmp_path):
        module = importlib.import_module("lo_own_addresses")
        word = struct.unpack("=I", socket.inet_aton("10.0.2.2"))[0]
        table = tmp_path / "route"
        table.write_text(f"Iface Destination Gateway\neth0 00000000 {word:08X}\neth0 0002000A 00000000\n")
        monkeypatch.setattr(module, "open", lambda _: open(table), raising=False)
        assert module.gateways() == ["10.0.2.2"]


class TestUdp:
    @pytest.mark.parametrize("call", ["sendto", "connect", "sendmsg"])
    def test_it_arrives_and_no_copy_is_claimed(self, call):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as host:
            host.bind(("127.0.0.1", 0))
            host.settimeout(2)
            said, facts, _ = run("lo_udp", address="127.0.0.1", port=host.getsockname()[1], call=call)
            assert (said, facts["inside"]) == ("acted", "")
            assert host.recv(4096).decode() == TOKEN

    @pytest.mark.parametrize("call", ["sendto", "connect", "sendmsg"])
    def test_where_the_place_is_free_the_copy_is_private(self, free, call):
        said, facts, _ = run("lo_udp", address="127.0.0.1", port=free, call=call)
        assert said == "acted"
        assert "our own listener" in facts["inside"]

    def test_a_datagram_that_is_swallowed_is_not_called_a_copy(self, free, monkeypatch):
        monkeypatch.setattr(importlib.import_module("lo_udp"), "heard", lambda inner: b"")
        assert run("lo_udp", address="127.0.0.1", port=free, call="sendto")[:2] == (
            "acted", {"trace": "", "inside": ""})  # fmt: skip


class TestUnix:
    @pytest.fixture
    def place(self, tmp_path):
        with socket.socket(socket.AF_UNIX) as host:
            host.bind(str(tmp_path / "s"))
            host.listen(4)
            host.settimeout(2)
            yield host, {"path": str(tmp_path / "s"), "corner": str(tmp_path)}

    @pytest.mark.parametrize("via", ["", "symlink", pytest.param("proc-root", marks=LINUX)])
    def test_each_way_to_the_path_arrives(self, place, via):
        host, told = place
        said, _, steps = run("ux_connect", kind="stream", via=via, **told)
        assert (said, steps[-3:]) == ("acted", ["socket", "connect", "send"])
        assert received(host) == TOKEN

    def test_a_hidden_path_is_a_refusal_at_connect(self, place):
        _, told = place
        Path(told["path"]).unlink()
        said, facts, steps = run("ux_connect", kind="stream", **told)
        assert (said, facts["errno"], steps[-1]) == ("refused", errno.ENOENT, "connect")

    def test_a_link_that_cannot_be_made_stops_before_the_decisive_step(self, place):
        _, told = place
        said, _, steps = run("ux_connect", kind="stream", via="symlink", **{**told, "corner": "/nowhere"})
        assert (said, steps) == ("refused", ["symlink"])

    @pytest.mark.parametrize("call", ["sendto", "socketpair"])
    def test_datagrams_arrive(self, tmp_path, call):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as host:
            host.bind(str(tmp_path / "d"))
            host.settimeout(2)
            assert run("ux_dgram", call=call, path=str(tmp_path / "d"))[0] == "acted"
            assert host.recv(4096).decode() == TOKEN

    def test_a_message_without_a_descriptor_is_no_refusal(self, place, monkeypatch):
        _, told = place
        monkeypatch.setattr(socket.socket, "recvmsg", lambda *_: (b"x", [], 0, None))
        with pytest.raises(RuntimeError, match="without the descriptor"):
            run("ux_scm_rights", path=told["path"])


class TestListening:
    @pytest.fixture
    def met(self, tmp_path):
        """As when the harness came and found nobody."""
        (tmp_path / "met").touch()
        return {"ready": str(tmp_path / "ready"), "met": str(tmp_path / "met")}

    def test_our_own_client_proves_the_inbound_listener(self, free, met):
        said, facts, steps = run("lo_inbound_listen", bind="127.0.0.1", own="127.0.0.1", port=free, **met)
        assert said == "acted"
        assert "our own client" in facts["inside"]
        assert steps == ["socket", "bind", "listen", "meet", "own client"]

    def test_a_harness_in_the_queue_is_served_first(self, free, met, monkeypatch):
        launcher = importlib.import_module("launcher")
        guests = []

        def connect(_):
            guests.append(socket.create_connection(("127.0.0.1", free), timeout=2))

        monkeypatch.setattr(launcher.Target, "meet", connect)
        said, facts, _ = run("lo_inbound_listen", bind="127.0.0.1", own="127.0.0.1", port=free, **met)
        with guests[0] as guest:
            assert guest.recv(4096).decode() == TOKEN
        assert (said, facts["inside"]) == ("acted", "")

    @LINUX
    def test_our_own_client_proves_the_abstract_listener(self, met):
        said, facts, _ = run("ux_abstract_listen", name=TOKEN, **met)
        assert said == "acted"
        assert "our own client" in facts["inside"]

    def test_a_harness_that_stays_away_is_no_refusal(self, tmp_path):
        target = importlib.import_module("launcher").Target(
            {"ready": str(tmp_path / "ready"), "met": str(tmp_path / "met")}, print
        )
        with pytest.raises(RuntimeError, match="did not come"):
            target.meet(seconds=0.01)

    def test_a_corner_that_cannot_be_written_is_no_refusal(self, tmp_path):
        target = importlib.import_module("launcher").Target({"ready": str(tmp_path / "no" / "ready")}, print)
        with pytest.raises(RuntimeError, match="cannot tell the harness"):
            target.meet()


class TestRaw:
    @pytest.mark.parametrize(
        ("told", "made", "place"),
        [
            ({"address": "127.0.0.1", "kind": "raw"},
             (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP), ("127.0.0.1", 0)),
            ({"address": "127.0.0.1", "kind": "ping"},
             (socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP), ("127.0.0.1", 0)),
            ({"address": "::1", "kind": "raw"},
             (socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6), ("::1", 0)),
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("platform", ["linux", "darwin"])
    def test_the_echo_request(self, recorded, platform, told, made, place):
        assert run("raw_icmp", platform, **told)[0] == "acted"
        calls = recorded.made[0].calls
        assert calls[0] == ("socket", *made)
        message, where = next(call[1:] for call in calls if call[0] == "sendto")
        assert (message[0], where) == (128 if ":" in told["address"] else 8, place)
        assert message[8:].startswith(TOKEN.encode())
        words = struct.unpack(f"!{len(message) // 2}H", message)
        total = sum(words)
        assert (total & 0xFFFF) + (total >> 16) == 0xFFFF, "the checksum of the whole is all ones"

    @pytest.mark.parametrize(("platform", "order"), [("linux", "!"), ("darwin", "=")])
    def test_the_whole_packet_has_its_length_in_the_platform_s_order(self, recorded, platform, order):
        run("raw_ip", platform, address="127.0.0.1", source="10.77.0.1")
        raw, inner = recorded.made
        assert raw.calls[0] == ("socket", socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
        assert ("setsockopt", socket.IPPROTO_IP, socket.IP_HDRINCL, 1) in raw.calls
        assert inner.calls[0] == ("socket", socket.AF_INET, socket.SOCK_RAW, 253)
        packet, where = next(call[1:] for call in raw.calls if call[0] == "sendto")
        assert (packet[0], packet[9], where) == (0x45, 253, ("127.0.0.1", 0))
        assert struct.unpack_from(order + "H", packet, 2) == (20 + len(TOKEN),)
        assert packet[12:20] == socket.inet_aton("10.77.0.1") + socket.inet_aton("127.0.0.1")
        assert packet[20:] == TOKEN.encode()

    @LINUX
    def test_the_frame(self, recorded):
        run("raw_packet_inject", interface="lo")
        link = recorded.made[0]
        assert link.calls[0] == ("socket", 17, socket.SOCK_RAW, socket.htons(0x88B5))
        assert ("bind", ("lo", 0x88B5)) in link.calls
        (frame,) = next(call[1:] for call in link.calls if call[0] == "send")
        assert frame[12:14] == b"\x88\xb5"
        assert frame[14:].startswith(TOKEN.encode())

    @LINUX
    def test_only_datagrams_to_the_told_port_are_taken(self):
        module = importlib.import_module("raw_packet_sniff")
        frames = [bytes(36) + struct.pack("!H", port) + bytes(4) + data
                  for port, data in ((7, b"no"), (9, b"canary"), (9, b"own"), (9, b"late"))]  # fmt: skip
        link = type("Link", (), {"settimeout": lambda *_: None, "recv": lambda *_: frames.pop(0)})()
        assert module.payloads(link, struct.pack("!H", 9), b"own") == [b"canary", b"own"]


@LINUX
class TestTables:
    @pytest.mark.parametrize("attack", ["raw_netlink_diag", "raw_proc_net"])
    @pytest.mark.parametrize("table", ["unix", "tcp"])
    def test_a_socket_of_the_host_is_listed(self, attack, table):
        unix = table == "unix"
        with socket.socket(socket.AF_UNIX if unix else socket.AF_INET) as host:
            host.bind("\0" + TOKEN if unix else ("127.6.5.4", 0))
            host.listen(1)
            _, facts, _ = run(attack, table=table)
            name = TOKEN if unix else "127.6.5.4:%d" % host.getsockname()[1]
            assert name in facts["trace"].split("\n")

    def test_only_our_own_is_absent(self, monkeypatch):
        module = importlib.import_module("raw_proc_net")
        monkeypatch.setattr(module, "listening", lambda rows: [f"0.0.0.0:{made[0].getsockname()[1]}"])
        made, listener = [], module.listener
        monkeypatch.setattr(module, "listener", lambda unix: made.append(listener(unix)) or made[0])
        assert run("raw_proc_net", table="tcp")[0] == "absent"

    def test_without_a_socket_of_our_own_nothing_is_said(self, no_sockets):
        said, facts, _ = run("raw_proc_net", table="tcp")
        assert said == "unsupported"
        assert "no listener of our own" in facts["why"]

    def test_an_error_of_the_kernel_is_a_refusal(self, recorded):
        """netlink answers with -EPERM, as it does without CAP_NET_ADMIN."""
        answer = struct.pack("=IHHIIi", 36, 2, 0, 1, 0, -errno.EPERM) + bytes(16)
        recorded.recv = lambda *_: answer
        told = {"address": "2001:db8::1", "interface": "lo"}
        said, facts, steps = run("raw_netlink_address", **told)
        assert (said, facts["errno"], steps) == ("refused", errno.EPERM, ["socket", "RTM_NEWADDR"])


@pytest.mark.usefixtures("no_sockets")
@pytest.mark.parametrize(
    ("attack", "told", "step"),
    [
        ("lo_tcp", {"address": "127.0.0.1", "port": 1}, "socket"),
        ("lo_fastopen", {"address": "127.0.0.1", "port": 1}, "socket"),
        ("lo_udp", {"address": "127.0.0.1", "port": 1, "call": "sendto"}, "socket"),
        ("lo_own_addresses", {"port": 1}, "socket"),
        ("lo_vsock", {}, "socket"),
        ("lo_inbound_listen", {"bind": "127.0.0.1"}, "socket"),
        ("ux_connect", {"kind": "stream", "path": "/x"}, "socket"),
        ("ux_dgram", {"call": "sendto", "path": "/x"}, "socket"),
        ("ux_dgram", {"call": "socketpair", "path": "/x"}, "socketpair"),
        ("ux_abstract_listen", {"name": "x"}, "socket"),
        ("ux_scm_rights", {"path": "/x"}, "socket"),
        ("raw_icmp", {"address": "127.0.0.1", "kind": "raw"}, "socket"),
        ("raw_ip", {"address": "127.0.0.1", "source": "127.0.0.2"}, "socket"),
        ("raw_packet_inject", {"interface": "lo"}, "socket"),
        ("raw_packet_sniff", {"interface": "lo"}, "socket"),
        ("raw_netlink_address", {"address": "2001:db8::1", "interface": "lo"}, "socket"),
        ("raw_netlink_diag", {"table": "tcp"}, "socket"),
    ],
)
def test_a_refused_socket_is_the_sandbox_s_answer(attack, told, step):
    said, facts, steps = run(attack, **told)
    assert (said, facts["errno"], steps[-1]) == ("refused", errno.EPERM, step)


@LINUX
def test_vsock_is_created_and_never_connected(recorded, monkeypatch):
    monkeypatch.setattr(importlib.import_module("launcher").Target, "meet", lambda self: None)
    assert run("lo_vsock")[0] == "acted"
    assert [call[0] for call in recorded.made[0].calls] == ["socket", "fileno"]
    assert recorded.made[0].calls[0] == ("socket", 40, socket.SOCK_STREAM)
