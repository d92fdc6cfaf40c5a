"""Ways past a proxy, against servers of our own: what goes out, and whose answer counts as a refusal."""

import errno
import socket
import struct
import threading

import pytest

from attacks.tests.inside import LINUX, TOKEN, as_if_it_ended, load, target
from attacks.tests.inside import run as ask


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.settimeout(5)
        yield made


@pytest.fixture
def datagrams():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.bind(("127.0.0.1", 0))
        made.settimeout(5)
        yield made


@pytest.fixture
def served(listener):
    """What the first guest sends; it is answered by `hello`."""
    heard = []

    def serve():
        guest, _ = listener.accept()
        with guest:
            heard.append(guest.recv(4096))
            guest.sendall(b"hello")

    thread = threading.Thread(target=serve)
    thread.start()
    yield heard
    thread.join()


class TestName:
    def resolve(self, monkeypatch, answer):
        """The resolver answers so; it is asked for nothing else."""
        asked = []

        def getaddrinfo(name, port, **_):
            asked.append(name)
            if isinstance(answer, OSError):
                raise answer
            return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (answer, port))]

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
        return asked

    def test_what_it_resolves_to_is_dialled(self, monkeypatch, listener, served):
        self.resolve(monkeypatch, "127.0.0.1")
        said, facts, steps = ask("direct_name", name="api.allowed.test", port=listener.getsockname()[1])
        assert (said, facts["trace"]) == ("acted", "hello")
        assert steps == ["getaddrinfo", "socket", "connect", "send"]
        assert f"X-Marker: {TOKEN}.0".encode() in served[0]

    def test_the_question_itself_may_hold_the_token(self, monkeypatch):
        asked = self.resolve(monkeypatch, socket.gaierror(socket.EAI_NONAME, "unknown"))
        assert ask("direct_name", name="{token}.lookup.test", port=1)[0] == "refused"
        assert asked == [TOKEN + ".lookup.test"]

    @pytest.mark.parametrize("word", ["EAI_NONAME", "EAI_AGAIN", "EAI_FAIL"])
    def test_a_name_error_is_the_sandbox_s_answer(self, monkeypatch, word):
        self.resolve(monkeypatch, socket.gaierror(getattr(socket, word), "no such name"))
        said, facts, steps = ask("direct_name", name="api.allowed.test", port=443)
        assert (said, facts["errno"], steps) == ("refused", errno.EHOSTUNREACH, ["getaddrinfo"])

    def test_a_resolver_that_breaks_is_not(self, monkeypatch):
        self.resolve(monkeypatch, socket.gaierror(socket.EAI_MEMORY, "out of memory"))
        with pytest.raises(RuntimeError, match="resolver itself failed"):
            ask("direct_name", name="api.allowed.test", port=443)


class TestTcp:
    def test_the_address_is_dialled(self, listener, served):
        said, facts, steps = ask("direct_tcp", address="127.0.0.1", port=listener.getsockname()[1])
        assert (said, facts["trace"], steps) == ("acted", "hello", ["socket", "connect", "send"])
        assert f"X-Marker: {TOKEN}.0".encode() in served[0]

    def test_nobody_there_is_a_refusal_at_connect(self, free):
        said, facts, steps = ask("direct_tcp", address="127.0.0.1", port=free)
        assert (said, facts["errno"], steps[-1]) == ("refused", errno.ECONNREFUSED, "connect")

    def test_the_protocol_is_asked_for(self, recorded):
        ask("direct_tcp", address="2600:ffff::44", port=443, protocol=262)
        assert recorded.made[0].calls[0] == ("socket", socket.AF_INET6, socket.SOCK_STREAM, 262)


class TestUdp:
    @pytest.mark.parametrize("shape", ["token", "dns", "quic"])
    def test_the_token_goes_out_in_that_shape(self, datagrams, shape):
        said, _, steps = ask("direct_udp", address="127.0.0.1", port=datagrams.getsockname()[1], shape=shape)
        data = datagrams.recv(2048)
        assert (said, steps) == ("acted", ["socket", "sendto"])
        assert TOKEN.encode() in data
        assert (len(data), data[0] >> 6) == (1200, 3) if shape == "quic" else len(data) < 100
        if shape == "dns":
            assert struct.unpack_from("!6H", data) == (0x656D, 0x0100, 1, 0, 0, 0)
            assert data[12:] == bytes((len(TOKEN),)) + TOKEN.encode() + b"\6lookup\4test\0\0\1\0\1"

    def test_what_comes_back_to_us_never_left(self, free):
        said, facts, _ = ask("direct_udp", address="127.0.0.1", port=free, shape="token")
        assert (said, facts["trace"]) == ("acted", "")
        assert "our own listener" in facts["inside"]

    @LINUX
    @pytest.mark.parametrize("address", ["224.0.0.251", "255.255.255.255"])
    def test_groups_and_broadcasts_go_out_on_the_row_s_interface(self, recorded, address):
        ask("direct_udp", address=address, port=5353, shape="dns", interface="lo")
        inner, sender = recorded.made
        joined = [call for call in inner.calls if call[:3] == ("setsockopt", 0, socket.IP_ADD_MEMBERSHIP)]
        assert bool(joined) is (address == "224.0.0.251")
        for each in (inner, sender):
            assert ("setsockopt", socket.SOL_SOCKET, 25, b"lo") in each.calls
            assert ("setsockopt", socket.SOL_SOCKET, socket.SO_BROADCAST, 1) in each.calls
        assert next(call[2] for call in sender.calls if call[0] == "sendto") == (address, 5353)


class TestDns:
    def test_by_udp(self, datagrams):
        place = datagrams.getsockname()

        def answer():
            data, guest = datagrams.recvfrom(512)
            datagrams.sendto(b"answer to " + data[12:], guest)

        thread = threading.Thread(target=answer)
        thread.start()
        said, facts, steps = ask("direct_dns", address=place[0], port=place[1], by="udp")
        thread.join()
        assert (said, steps) == ("acted", ["socket", "connect", "send", "recv"])
        assert "answer to" in facts["trace"]
        assert f"{TOKEN}\6lookup\4test" in facts["trace"]

    def test_by_tcp_with_its_length(self, listener, served):
        said, _, _ = ask("direct_dns", address="127.0.0.1", port=listener.getsockname()[1], by="tcp")
        assert said == "acted"
        assert struct.unpack_from("!H", served[0])[0] == len(served[0]) - 2

    @LINUX
    def test_a_port_where_nobody_answers_is_a_refusal(self, free):
        for by, last in (("udp", "recv"), ("tcp", "connect")):
            said, facts, steps = ask("direct_dns", address="127.0.0.1", port=free, by=by)
            assert (said, facts["errno"], steps[-1]) == ("refused", errno.ECONNREFUSED, last)

    def test_an_end_without_an_answer_is_a_refusal(self, listener):
        def close():
            guest, _ = listener.accept()
            guest.recv(4096)
            guest.close()

        closing = threading.Thread(target=close)
        closing.start()
        said, facts, _ = ask("direct_dns", address="127.0.0.1", port=listener.getsockname()[1], by="tcp")
        closing.join()
        assert (said, facts["errno"]) == ("refused", errno.ECONNRESET)

    @pytest.mark.parametrize(
        ("text", "found"),
        [("nameserver 192.0.2.1\nnameserver 192.0.2.2\n", "192.0.2.1"), ("# none\nnameserver\n", "127.0.0.1"),
         (None, "127.0.0.1")],
    )  # fmt: skip
    def test_who_is_named(self, monkeypatch, tmp_path, text, found):
        settings = tmp_path / "resolv.conf"
        if text is not None:
            settings.write_text(text)
        module = load("direct_dns")
        monkeypatch.setattr(module, "open", lambda _, **more: settings.open(**more), raising=False)
        assert module.named() == found


class TestTrace:
    def test_by_udp_with_a_growing_life(self, recorded):
        said, _, _ = ask("trace_route", address="192.0.2.1", port=33434, by="udp")
        calls = recorded.made[0].calls
        assert said == "acted"
        lives = [call[3] for call in calls if call[:3] == ("setsockopt", socket.IPPROTO_IP, socket.IP_TTL)]
        assert lives == [1, 2, 3, 4]
        sent = [call[1:] for call in calls if call[0] == "sendto"]
        assert sent == [(TOKEN.encode(), ("192.0.2.1", 33434))] * 4

    @pytest.mark.parametrize(("by", "kind"), [("raw", socket.SOCK_RAW), ("ping", socket.SOCK_DGRAM)])
    def test_by_echo_requests(self, recorded, by, kind):
        recorded.recv = lambda *_: (_ for _ in ()).throw(socket.timeout("timed out"))
        said, _, _ = ask("trace_route", address="192.0.2.1", by=by)
        calls = recorded.made[0].calls
        assert (said, calls[0]) == ("acted", ("socket", socket.AF_INET, kind, socket.IPPROTO_ICMP))
        for message in (call[1] for call in calls if call[0] == "sendto"):
            total = sum(struct.unpack(f"!{len(message) // 2}H", message))
            assert (total & 0xFFFF) + (total >> 16) == 0xFFFF, "the checksum of the whole is all ones"
            assert TOKEN.encode() in message

    def test_a_probe_that_comes_back_never_left(self, recorded):
        recorded.recv = lambda *_: b"header" + TOKEN.encode()
        assert ask("trace_route", address="192.0.2.1", by="raw")[1]["inside"]


@pytest.mark.usefixtures("no_sockets")
@pytest.mark.parametrize(
    ("attack", "told"),
    [
        ("direct_tcp", {"address": "192.0.2.1", "port": 1}),
        ("direct_udp", {"address": "192.0.2.1", "port": 1, "shape": "token"}),
        ("direct_dns", {"address": "192.0.2.1", "by": "udp"}),
        ("trace_route", {"address": "192.0.2.1", "port": 1, "by": "udp"}),
    ],
)
def test_a_refused_socket_is_the_sandbox_s_answer(attack, told):
    said, facts, steps = ask(attack, **told)
    assert (said, facts["errno"], steps) == ("refused", errno.EPERM, ["socket"])


@pytest.mark.parametrize("attack", ["direct_name", "direct_tcp", "direct_dns"])
def test_where_the_row_is_staged_the_attack_waits_for_it(attack, tmp_path):
    told = {"name": "x.test", "address": "192.0.2.1", "port": 1, "by": "udp", "patience": 0.05}
    meeting = {"ready": str(tmp_path / "ready"), "met": str(tmp_path / "met")}
    with as_if_it_ended(), pytest.raises(RuntimeError, match="did not come"):
        load(attack).attempt(target(**told, **meeting))
