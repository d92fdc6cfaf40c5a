"""mitmproxy, told both lists by an addon of ours. Source: mitmproxy's documentation, addons and events, 11.0.

Its options alone cannot be told: `--allow-hosts` says what is intercepted and lets the rest pass, and
`block_list` knows names but no ports and no addresses.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from runners import programs
from runners.contract import Found, Identity, Missing
from runners.forward import Forward, asks_elsewhere
from runners.local import find
from runners.server import Site, Told
from runners.tier1.entries import ALL_PORTS, Below, Entry, Network
from runners.tier1.hosts import Literal, Name

GATE = Path(__file__).with_name("mitmproxy_gate.py")


class Runner(Forward):
    """One mitmdump; the addon reads the lists at every question, so that a change needs no signal."""

    OPTIONS: ClassVar[Mapping[str, Any]] = programs.option("mitmdump")

    def find(self, identity: Identity) -> Found | Missing:
        """mitmdump, run by whoever runs this."""
        del identity
        return find(self._mitmdump(), Identity.current(), "make proxies, or pip install mitmproxy")

    def unsayable(self, told: Told) -> str:
        """An addon can be told everything, but asks whom the system asks."""
        return asks_elsewhere(told)

    def configuration(self, site: Site, told: Told) -> Mapping[str, str]:
        """The addon and its lists."""
        del site
        lists = {"tenant": _entries(told.tenant), "manifest": _entries(told.manifest)}
        return {"gate.py": GATE.read_text(), "lists.json": json.dumps(lists)}

    def program(self, site: Site) -> tuple[str, ...]:
        """Nothing is dialled before it is asked for (`lazy`); its certificates last as long as the launch."""
        settings = (f"confdir={site.folder.parent / 'conf'}", "connection_strategy=lazy")
        return (
            *(self._mitmdump(), "--listen-host", "127.0.0.1", "--listen-port", str(site.port)),
            *("--mode", "regular", "--scripts", str(site.folder / "gate.py")),
            *(word for each in settings for word in ("--set", each)),
        )

    def _mitmdump(self) -> str:
        return self.options.get("program") or programs.find("mitmproxy/bin/mitmdump")


def _entries(entries: Iterable[Entry]) -> list[dict[str, object]]:
    return [
        {**_host(entry), "ports": [] if entry.ports == ALL_PORTS else list(entry.ports)} for entry in entries
    ]


def _host(entry: Entry) -> dict[str, object]:
    match entry.host:
        case Name(text):
            return {"name": text}
        case Below(name):
            return {"below": name}
        case Literal(address):
            return {"network": str(address)}
        case Network(network):
            return {"network": str(network)}
