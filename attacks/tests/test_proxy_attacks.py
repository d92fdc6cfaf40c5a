"""The attack that asks a proxy, against one of our own that answers as told."""

import contextlib
import errno
import ssl

import pytest
import trustme

from attacks.tests.answering import NO, OK, OPEN, ask
from attacks.tests.inside import TOKEN, load


class TestRequests:
    def test_a_tunnel_carries_the_marker(self, proxy):
        said, facts, steps = ask(("listed", {"connect": "0x0A.Test.:443"}))
        assert (said, steps) == ("acted", ["proxy", "listed"])
        assert proxy.asked[0] == b"CONNECT 0x0A.Test.:443 HTTP/1.1\r\nHost: 0x0A.Test.:443"
        assert f"X-Marker: {TOKEN}.0".encode() in proxy.asked[1]
        assert "arrived" in facts["trace"]
        assert "Connection established" in facts["trace"]

    def test_a_host_beyond_latin_goes_out_as_utf8(self, proxy):
        ask(("forbidden", {"connect": "\uff11\uff10.11.12.13:443"}))
        assert "CONNECT \uff11\uff10.11.12.13:443".encode() in proxy.asked[0]

    def test_a_refusal_tells_all_that_the_client_is_told(self, proxy):
        proxy.answer = lambda _: NO
        said, facts, steps = ask(("forbidden", {"connect": "a.test:443"}))
        assert (said, facts["errno"], steps[-1]) == ("refused", errno.EACCES, "forbidden")
        for told in ("HTTP/1.1 403 Forbidden: private", "X-Denial-Kind: private", "nope"):
            assert told in facts["text"]

    def test_a_closed_connection_is_a_refusal(self, proxy):
        proxy.answer = lambda _: b""
        said, facts, _ = ask(("forbidden", {"connect": "a.test:443"}))
        assert (said, facts["errno"]) == ("refused", errno.ECONNRESET)

    def test_silence_is_no_refusal(self, proxy, monkeypatch):
        monkeypatch.setattr(load("proxy_request"), "PATIENCE", 0.1)
        proxy.answer = lambda _: None
        assert ask(("forbidden", {"connect": "a.test:443"}))[0] == "timed_out"

    def test_no_proxy_at_its_place_is_before_the_decisive_step(self, proxy, monkeypatch, free):
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free}")
        said, facts, steps = ask(("forbidden", {"connect": "a.test:443"}))
        assert (said, facts["errno"], steps) == ("refused", errno.ECONNREFUSED, ["proxy"])

    def test_no_proxy_in_the_environment_is_not_tried(self, proxy, monkeypatch):
        monkeypatch.delenv("http_proxy")
        monkeypatch.delenv("HTTP_PROXY", raising=False)
        assert ask(("forbidden", {"connect": "a.test:443"}))[0] == "unsupported"

    def test_absolute_form_with_the_row_s_own_headers(self, proxy):
        ask(
            (
                "listed",
                {"get": "http://a.test:80/x", "headers": {"Host": "b.test"}, "method": "PUT", "body": "q"},
            )
        )
        head = proxy.asked[0].decode()
        assert head.startswith("PUT http://a.test:80/x HTTP/1.1\r\n")
        assert "Host: b.test" in head
        assert "Host: a.test" not in head

    def test_one_redirect_is_followed_through_the_proxy(self, proxy):
        moved = b"HTTP/1.1 302 Found\r\nLocation: http://b.test/\r\nContent-Length: 0\r\n\r\n"
        proxy.answer = lambda head: moved if b"//a.test" in head else NO
        said, _, _ = ask(("forbidden", {"get": "http://a.test/r", "follow": True}))
        assert (said, proxy.guests) == ("refused", 2)
        assert TOKEN.encode() not in proxy.asked[0]
        assert proxy.asked[1].startswith(b"GET http://b.test/ HTTP/1.1\r\nHost: b.test")
        assert TOKEN.encode() in proxy.asked[1]

    def test_early_data_goes_out_with_the_connect(self, proxy):
        proxy.answer = lambda _: NO
        assert ask(("forbidden", {"connect": "a.test:443", "early": True}))[0] == "refused"
        assert TOKEN.encode() in proxy.heard.partition(b"\r\n\r\n")[2]

    def test_bytes_as_they_are_and_the_last_of_the_answers_decides(self, proxy):
        proxy.answer = lambda head: NO if b"//b.test" in head else OK
        text = "GET http://{}.test/ HTTP/1.1\r\nHost: x\r\nX-Marker: $MARKER\r\n\r\n"
        row = {"raw": text.format("a") + text.format("b"), "answers": 2}
        said, facts, _ = ask(("forbidden", row))
        assert (said, facts["errno"]) == ("refused", errno.EACCES)
        assert "200 OK" in facts["text"]
        assert f"X-Marker: {TOKEN}.0".encode() in proxy.asked[0]

    def test_a_raw_connect_goes_on_as_a_tunnel(self, proxy):
        said, _, _ = ask(("listed", {"raw": "CONNECT a.test:443 HTTP/1.0\r\n\r\n"}))
        assert said == "acted"
        assert TOKEN.encode() in proxy.asked[1]

    def test_credentials_stand_behind_each_request_line(self, proxy, monkeypatch):
        monkeypatch.setenv("http_proxy", f"http://me:s%40@127.0.0.1:{proxy.port}")
        text = "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n"
        ask(("listed", {"raw": text * 2, "answers": 2}))
        for head in proxy.asked:
            assert head.startswith(b"GET http://a.test/ HTTP/1.1\r\nProxy-Authorization: Basic bWU6c0A=\r\n")

    def test_the_proxy_s_own_place(self, proxy):
        ask(("forbidden", {"connect": "$PROXY"}))
        assert proxy.asked[0].startswith(f"CONNECT 127.0.0.1:{proxy.port} HTTP/1.1".encode())

    def test_a_web_socket_is_a_tunnel_with_an_upgrade(self, proxy):
        agreed = b"HTTP/1.1 101 Switching Protocols\r\n\r\n\x81\x07arrived"
        proxy.answer = lambda head: OPEN if head.startswith(b"CONNECT") else agreed
        said, facts, _ = ask(("listed", {"websocket": "ws://a.test/s"}))
        assert (said, "arrived" in facts["trace"]) == ("acted", True)
        assert TOKEN.encode() in proxy.asked[1]
        assert proxy.asked[0].startswith(b"CONNECT a.test:80 ")
        assert proxy.asked[1].startswith(b"GET /s HTTP/1.1\r\nHost: a.test")
        assert b"Upgrade: websocket" in proxy.asked[1]


class TestSteps:
    def test_a_forbidden_step_that_is_refused_is_gone_beyond(self, proxy):
        proxy.answer = lambda head: NO if b"//b.test" in head else OK
        said, facts, steps = ask(
            ("forbidden", {"get": "http://b.test/"}), ("forbidden", {}), ("listed", {"get": "http://a.test/"})
        )
        assert (said, steps) == ("acted", ["proxy", "forbidden", "forbidden", "proxy", "listed"])
        assert facts["trace"].index("200 OK") < facts["trace"].index("403 Forbidden")
        assert f"X-Marker: {TOKEN}.2".encode() in proxy.asked[1]

    def test_a_forbidden_step_that_gets_out_ends_it(self, proxy):
        said, _, steps = ask(
            ("forbidden", {"get": "http://b.test/"}), ("forbidden", {"get": "http://a.test/"})
        )
        assert (said, steps) == ("acted", ["proxy", "forbidden"])

    def test_a_listed_step_that_is_refused_ends_it(self, proxy):
        proxy.answer = lambda _: NO
        said, _, steps = ask(("listed", {"get": "http://a.test/"}), ("forbidden", {"get": "http://a.test/"}))
        assert (said, steps) == ("refused", ["proxy", "listed"])

    def test_a_kept_connection_is_used_again(self, proxy):
        ask(("listed", {"get": "http://a.test/"}), ("listed", {"get": "http://a.test/"}, "keep"))
        assert (proxy.guests, len(proxy.asked)) == (1, 2)

    def test_a_kept_tunnel_carries_one_more(self, proxy):
        ask(("listed", {"connect": "a.test:443"}), ("listed", {"connect": "a.test:443"}, "keep"))
        assert [head.split()[0] for head in proxy.asked] == [b"CONNECT", b"GET", b"GET"]

    def test_the_harness_is_met_before_each(self, proxy, monkeypatch):
        moments = []
        meet = lambda self, moment="", **_: moments.append(moment)  # noqa: E731 - as short as it is
        monkeypatch.setattr(load("launcher").Target, "meet", meet)
        ask(("listed", {}), ("listed", {}), ("listed", {}))
        assert moments == ["", "1", "2"]

    def test_a_neighbour_s_proxy_is_the_one_that_the_harness_names(self, proxy, monkeypatch, free):
        place = f"http://127.0.0.1:{free}"
        monkeypatch.setattr(load("launcher").Target, "meet", lambda *_, **__: place)
        said, facts, steps = ask(("forbidden", {"connect": "a.test:443", "proxy": "neighbour"}))
        assert (said, facts["errno"], steps[-1]) == ("refused", errno.ECONNREFUSED, "forbidden")
        assert not proxy.asked

    def test_without_a_neighbour_nothing_is_tried(self, proxy):
        assert ask(("forbidden", {"connect": "a.test:443", "proxy": "neighbour"}))[0] == "unsupported"


class TestTls:
    @pytest.fixture
    def names(self, proxy):
        """The server names that the upstream reads, behind a proxy that lets every tunnel through."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trustme.CA().issue_cert("upstream.test").configure_cert(context)
        seen = []
        context.sni_callback = lambda _, name, __: seen.append(name)

        def serve(guest):
            with context.wrap_socket(guest, server_side=True) as upstream:
                upstream.recv(4096)
                upstream.sendall(OK)

        proxy.after = serve
        return seen

    @pytest.mark.parametrize("tls", [{}, {"split": 7}, {"alpn": ["h2", "http/1.1"]}])
    def test_a_hello_is_understood_however_it_is_cut(self, names, tls):
        said, facts, _ = ask(("listed", {"connect": "a.test:443", "tls": {"sni": "b.test", **tls}}))
        assert (said, names) == ("acted", ["b.test"])
        assert "arrived" in facts["trace"]

    def test_a_hello_without_a_name(self, names):
        assert ask(("listed", {"connect": "a.test:443", "tls": {"sni": None}}))[0] == "acted"
        assert names == [None]

    def test_a_tunnel_that_is_cut_at_the_hello_is_a_refusal(self, proxy):
        proxy.after = lambda guest: guest.recv(4096)
        said, facts, _ = ask(("forbidden", {"connect": "a.test:443", "tls": {"sni": "b.test"}}))
        assert (said, facts["errno"]) == ("refused", errno.ECONNRESET)

    @pytest.fixture
    def altered(self):
        """A ClientHello for a.test with more in it."""
        goes = ssl.MemoryBIO()
        with contextlib.suppress(ssl.SSLWantReadError):
            context = ssl.create_default_context()
            context.wrap_bio(ssl.MemoryBIO(), goes, server_hostname="a.test").do_handshake()
        return lambda tls: load("proxy_request").altered(goes.read(), tls)

    def test_a_second_name_stands_in_the_same_list(self, altered):
        hello = altered({"second": "other.test"})
        one, two = b"\0\0\6a.test", b"\0\0\x0aother.test"
        assert b"\0\0" + bytes([0, 24, 0, 22]) + one + two in hello
        assert int.from_bytes(hello[3:5], "big") == len(hello) - 5
        assert int.from_bytes(hello[6:9], "big") == len(hello) - 9

    def test_an_encrypted_hello_beside_the_name_is_one_that_servers_take(self, altered):
        came, seen = ssl.MemoryBIO(), []
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trustme.CA().issue_cert("a.test").configure_cert(server)
        server.sni_callback = lambda _, name, __: seen.append(name)
        hello = altered({"ech": True})
        came.write(hello)
        with pytest.raises(ssl.SSLWantReadError):  # it has answered, and waits for the client
            server.wrap_bio(came, ssl.MemoryBIO(), server_side=True).do_handshake()
        assert seen == ["a.test"]
        assert b"\xfe\x0d" in hello
