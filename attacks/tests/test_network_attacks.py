"""What all network attacks make of a refused socket, and of a harness that they cannot meet."""

import errno
import socket
import sys

import pytest

from attacks.tests.inside import as_if_it_ended, run, target


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


def test_a_harness_that_stays_away_is_no_refusal(tmp_path):
    with as_if_it_ended(), pytest.raises(RuntimeError, match="did not come"):
        target(ready=str(tmp_path / "ready"), met=str(tmp_path / "met"), patience=0.01).meet()


def test_a_meeting_of_a_later_moment_gives_what_the_harness_says(tmp_path):
    (tmp_path / "met-2").write_text("http://127.0.0.1:1")
    told = {"ready": str(tmp_path / "ready"), "met": str(tmp_path / "met")}
    with as_if_it_ended():
        assert target(**told).meet("2") == "http://127.0.0.1:1"
    assert (tmp_path / "ready-2").exists()


def test_a_harness_that_could_not_do_its_part_is_no_refusal(tmp_path):
    (tmp_path / "met").write_text("broken: no proxy")
    told = {"ready": str(tmp_path / "ready"), "met": str(tmp_path / "met")}
    with as_if_it_ended(), pytest.raises(RuntimeError, match="broken: no proxy"):
        target(**told).meet()


def test_a_corner_that_cannot_be_written_is_no_refusal(tmp_path):
    with pytest.raises(RuntimeError, match="cannot tell the harness"):
        target(ready=str(tmp_path / "no" / "ready"), met="").meet()


@pytest.mark.skipif(sys.platform != "linux", reason="SIOCGIFFLAGS of Linux")
def test_an_interface_is_down_only_when_the_kernel_says_so(monkeypatch, syscalls):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        assert not syscalls.is_down(asking, "lo")
        with pytest.raises(OSError, match="No such device"):
            syscalls.is_down(asking, "no-such-one")
        monkeypatch.setattr(syscalls.fcntl, "ioctl", lambda _socket, _number, request: request)
        assert syscalls.is_down(asking, "lo")
