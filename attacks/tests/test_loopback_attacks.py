"""The loopback attacks against listeners of our own, on every spelling and by every call."""

import errno
import os
import socket
import struct

import pytest

from attacks.tests.inside import LINUX, TOKEN, load, received, run


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.settimeout(2)
        yield made


class TestTcp:
    @pytest.mark.parametrize("address", ["127.0.0.1", "127.1", "2130706433", "0.0.0.0", "::ffff:127.0.0.1"])
    def test_each_spelling_arrives(self, listener, address):
        said, _, steps = run("lo_tcp", address=address, port=listener.getsockname()[1])
        assert (said, steps) == ("acted", ["resolve", "socket", "connect", "send"])
        assert received(listener) == TOKEN

    def test_a_name_is_looked_up_in_the_file_alone(self, monkeypatch):
        lo_tcp = load("lo_tcp")
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
        module = load("lo_own_addresses")
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
        monkeypatch.setattr(load("lo_udp"), "heard", lambda inner: b"")
        assert run("lo_udp", address="127.0.0.1", port=free, call="sendto")[:2] == (
            "acted", {"trace": "", "inside": ""})  # fmt: skip


class TestListening:
    def test_our_own_client_proves_the_inbound_listener(self, free, met):
        said, facts, steps = run("lo_inbound_listen", bind="127.0.0.1", own="127.0.0.1", port=free, **met)
        assert said == "acted"
        assert "our own client" in facts["inside"]
        assert steps == ["socket", "bind", "listen", "meet", "accept"]

    def test_a_harness_in_the_queue_is_served_first(self, free, met, monkeypatch):
        launcher = load("launcher")
        guests = []

        def connect(_):
            guests.append(socket.create_connection(("127.0.0.1", free), timeout=2))

        monkeypatch.setattr(launcher.Target, "meet", connect)
        said, facts, _ = run("lo_inbound_listen", bind="127.0.0.1", own="127.0.0.1", port=free, **met)
        with guests[0] as guest:
            assert guest.recv(4096).decode() == TOKEN
        assert (said, facts["inside"]) == ("acted", "")

    def test_a_refused_client_of_our_own_shuts_nobody_out(self, free, met, monkeypatch):
        launcher = load("launcher")
        guests = []

        def refuse(*_):
            raise PermissionError(1, "Operation not permitted")

        def connect(_):
            guests.append(socket.create_connection(("127.0.0.1", free), timeout=2))
            monkeypatch.setattr(socket.socket, "connect", refuse)

        monkeypatch.setattr(launcher.Target, "meet", connect)
        said, facts, _ = run("lo_inbound_listen", bind="127.0.0.1", own="127.0.0.1", port=free, **met)
        with guests[0] as guest:
            assert guest.recv(4096).decode() == TOKEN
        assert (said, facts["inside"]) == ("acted", "")

    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # it ends open
    def test_a_refused_client_of_our_own_alone_is_no_refusal(self, free, met, monkeypatch):
        def refuse(*_):
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(socket.socket, "connect", refuse)
        with pytest.raises(RuntimeError, match="nobody came"):
            run("lo_inbound_listen", bind="127.0.0.1", own="127.0.0.1", port=free, **met)


@LINUX
def test_vsock_is_created_and_never_connected(recorded, monkeypatch):
    monkeypatch.setattr(load("launcher").Target, "meet", lambda self: None)
    assert run("lo_vsock")[0] == "acted"
    assert [call[0] for call in recorded.made[0].calls] == ["socket", "fileno"]
    assert recorded.made[0].calls[0] == ("socket", 40, socket.SOCK_STREAM)
