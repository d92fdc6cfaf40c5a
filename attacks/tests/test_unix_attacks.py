"""The Unix-socket attacks against listeners of our own, by every way to their path."""

import errno
import socket
from pathlib import Path

import pytest

from attacks.tests.inside import LINUX, TOKEN, as_if_it_ended, received, run


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
        with as_if_it_ended(), pytest.raises(RuntimeError, match="without the descriptor"):
            run("ux_scm_rights", path=told["path"])

    @LINUX
    def test_our_own_client_proves_the_abstract_listener(self, met):
        said, facts, _ = run("ux_abstract_listen", name=TOKEN, **met)
        assert said == "acted"
        assert "our own client" in facts["inside"]
