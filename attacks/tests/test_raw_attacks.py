"""The raw-socket attacks: the packets they make, and the host's sockets that they list."""

import errno
import socket
import struct

import pytest

from attacks.tests.inside import LINUX, TOKEN, load, run


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
        module = load("raw_packet_sniff")
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
        module = load("raw_proc_net")
        monkeypatch.setattr(module, "listening", lambda rows: [made[0][1]])
        made, listener = [], module.listener
        monkeypatch.setattr(module, "listener", lambda unix: made.append(listener(unix)) or made[0])
        assert run("raw_proc_net", table="tcp")[0] == "absent"
        made[0][0].close()

    def test_without_a_socket_of_our_own_nothing_is_said(self, no_sockets):
        said, facts, _ = run("raw_proc_net", table="tcp")
        assert said == "unsupported"
        assert "no listener of our own" in facts["why"]

    @pytest.mark.parametrize("attack", ["raw_netlink_diag", "raw_proc_net"])
    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # it ends open
    def test_a_socket_of_our_own_without_a_name_is_no_refusal(self, attack, monkeypatch):
        def refuse(_):
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(socket.socket, "getsockname", refuse)
        assert run(attack, table="tcp")[0] == "unsupported"

    def test_an_error_of_the_kernel_is_a_refusal(self, recorded):
        """netlink answers with -EPERM, as it does without CAP_NET_ADMIN."""
        answer = struct.pack("=IHHIIi", 36, 2, 0, 1, 0, -errno.EPERM) + bytes(16)
        recorded.recv = lambda *_: answer
        told = {"address": "2001:db8::1", "interface": "lo"}
        said, facts, steps = run("raw_netlink_address", **told)
        assert (said, facts["errno"], steps) == ("refused", errno.EPERM, ["socket", "RTM_NEWADDR"])
