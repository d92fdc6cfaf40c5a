"""The proxy of Anthropic's sandbox-runtime, told both lists as domains. Source: its README, 0.0.78.

It always refuses names that lead to loopback, link-local, metadata and this host's own addresses. What else
is refused, `deniedResolvedAddresses` says for all names alike: two lists of different reach cannot be told.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from runners import programs
from runners.contract import Found, Identity, Missing
from runners.forward import Forward, asks_elsewhere
from runners.local import find, which
from runners.networks import networks
from runners.server import Site, Told
from runners.tier1.entries import ALL_PORTS, Below, Entry, Network
from runners.tier1.hosts import Literal, Name

SCRIPT = Path(__file__).with_name("srt_proxy.mjs")
_NEEDS = ("bwrap", "socat", "rg")  # it starts no proxy where its sandbox could not be started
_NEEDED = "apt-get install bubblewrap socat ripgrep"
_FIX = "make proxies, or npm install -g @anthropic-ai/sandbox-runtime"


class Runner(Forward):
    """One process of Node.js."""

    OPTIONS: ClassVar[Mapping[str, Any]] = programs.option("srt")
    signal = signal.SIGHUP
    re_read = "the lists are read again"

    def find(self, identity: Identity) -> Found | Missing:
        """The npm package, Node.js, and what the package wants beside it; run by whoever runs this."""
        del identity
        node = find("node", Identity.current(), "install Node.js 20 or newer")
        if isinstance(node, Missing):
            return node
        for program in _NEEDS:
            if not Path(which(program)).is_absolute():
                return Missing(f"{program} is not installed, and it does not start without", _NEEDED)
        try:
            version = json.loads((self._package() / "package.json").read_text())["version"]
        except (OSError, ValueError, KeyError):
            return Missing("sandbox-runtime is not installed", _FIX)
        return Found(f"sandbox-runtime {version}, Node.js {node.version}", str(self._package()))

    def unsayable(self, told: Told) -> str:
        """Two lists, a range of addresses, a name of one label."""
        if told.manifest and told.tenant:
            return "two lists of different reach: it has one list of addresses that no name may lead to"
        for entry in (*told.manifest, *told.tenant):
            match entry.host:
                case Network(network):
                    return f"a range of addresses ({network}) as a domain"
                case Name(text) if "." not in text and text != "localhost":
                    return f"a name of one label ({text})"
                case _:
                    continue
        return asks_elsewhere(told)

    def configuration(self, site: Site, told: Told) -> Mapping[str, str]:
        """Its `network` settings."""
        del site
        closed = networks("special") + (networks("private") if told.manifest else ())
        settings = {
            "allowedDomains": [
                domain for entry in (*told.tenant, *told.manifest) for domain in _domains(entry)
            ],
            "deniedDomains": [],
            "deniedResolvedAddresses": [str(network) for network in closed],
        }
        return {"network.json": json.dumps(settings)}

    def program(self, site: Site) -> tuple[str, ...]:
        """Our script, which starts the package's proxy and nothing else of it."""
        words = (SCRIPT, self._package(), site.port, site.secret, site.folder / "network.json")
        return (which("node"), *(str(word) for word in words))

    def url(self, site: Site) -> str:
        """With the password that it wants."""
        return f"http://srt:{site.secret}@127.0.0.1:{site.port}"

    def _package(self) -> Path:
        srt = self.options.get("program") or programs.find("srt/node_modules/.bin/srt")
        return Path(srt).resolve().parent.parent


def _domains(entry: Entry) -> list[str]:
    """One domain for each port, as a domain without one is every port's."""
    match entry.host:
        case Below(name):
            host = f"*.{name}"
        case Name() | Literal() as host_:
            host = str(host_)
        case Network():
            raise AssertionError  # unsayable
    return [host] if entry.ports == ALL_PORTS else [f"{host}:{port}" for port in entry.ports]
