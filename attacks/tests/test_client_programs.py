"""Real clients against a proxy of our own: Python's library, which is wherever attacks are, and curl."""

import errno
import re
import shutil
import socketserver
import threading
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

import pytest

from attacks.tests.clients import ask
from attacks.tests.inside import TOKEN, as_if_it_ended, load


class Proxy(BaseHTTPRequestHandler):
    """Refuses CONNECT; answers everything else as the harness's servers do, with what it was sent."""

    def do_CONNECT(self):
        self.send_error(403, "Forbidden: unlisted")

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"arrived 11.22.33.44 80 " + self.headers["X-Marker"].encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def proxy(monkeypatch):
    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True  # a client may leave its connection open

    with Server(("127.0.0.1", 0), Proxy) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        for name in ("http_proxy", "https_proxy"):
            monkeypatch.setenv(name, "http://127.0.0.1:%d" % server.server_address[1])
        yield server
        server.shutdown()
        thread.join()


class TestReal:
    """Python's own library is here wherever attacks are."""

    def test_urllib_goes_by_the_variables(self, proxy, tmp_path):
        said, facts, _ = ask(tmp_path, "python-urllib", ["listed"], url="http://x.test/")
        assert (said, f"{TOKEN}.0" in facts["trace"], "ran urllib" in facts["trace"]) == ("acted", True, True)
        said, facts, _ = ask(tmp_path, "python-urllib", ["forbidden"])
        assert (said, facts["errno"]) == ("refused", errno.EACCES)
        assert "403 Forbidden: unlisted" in facts["text"]

    def test_a_relay_carries_what_the_proxy_says(self, proxy, tmp_path):
        said, facts, _ = ask(tmp_path, "relay", ["forbidden"])
        assert (said, facts["errno"]) == ("refused", errno.EACCES)

    def test_a_relay_keeps_the_proxy_s_credentials(self, proxy):
        with as_if_it_ended():
            there = urlsplit("http://ann:secret@127.0.0.1:%d" % proxy.server_address[1])
            url = load("proxy_client").relay(there)
        assert re.fullmatch(r"http://ann:secret@127\.0\.0\.1:\d+", url)

    def test_a_relay_that_reaches_no_proxy_is_no_refusal(self, tmp_path, monkeypatch, free):
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free}")
        with pytest.raises(RuntimeError, match="does not reach the proxy"):
            ask(tmp_path, "relay", ["forbidden"])

    def test_a_proxy_that_is_not_there_is_no_refusal(self, tmp_path, monkeypatch, free):
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{free}")
        with pytest.raises(RuntimeError, match="neither answer nor refusal"):
            ask(tmp_path, "python-urllib", ["forbidden"])

    def test_curl_goes_by_the_variables(self, proxy, tmp_path):
        if not shutil.which("curl"):
            pytest.skip("no curl here")
        assert ask(tmp_path, "curl", ["listed"], url="http://x.test/")[0] == "acted"
        said, facts, _ = ask(tmp_path, "curl", ["forbidden"])
        assert (said, facts["errno"]) == ("refused", errno.EACCES)
        assert re.search(r"curl [\d.]+ .*: curl: \(56\)", facts["text"])
