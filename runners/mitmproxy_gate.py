"""An addon for mitmproxy: two lists and their reach, by the hooks that its documentation gives addons for it.

It runs inside mitmdump, from a copy in the folder of that one process, beside the lists (`lists.json`), which
it reads at every question. TLS that is for the host that was asked for passes through untouched. What an
address is, Python's `ipaddress` says, as it does for mitmproxy's own options block_global and block_private.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import asyncio
import ipaddress
import json
import socket
from pathlib import Path
from typing import Any

from mitmproxy import http
from mitmproxy.net.http.url import parse_authority

LISTS = Path(__file__).with_name("lists.json")
PRIVATE = tuple(
    ipaddress.ip_network(each)
    for each in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")
)


class Gate:
    """The hooks, in the order in which one call meets them."""

    def __init__(self) -> None:
        self.tunnels: set[str] = set()  # the clients that have one
        self.judged: dict[
            tuple[str, str, int], str
        ] = {}  # client, host, port → the address that may be dialled

    def client_disconnected(self, client: Any) -> None:
        """It is forgotten."""
        self.tunnels.discard(client.id)
        self.judged = {call: address for call, address in self.judged.items() if call[0] != client.id}

    async def http_connect(self, flow: Any) -> None:
        """A tunnel: refused before it is opened."""
        await self.judge(flow)
        if flow.response is None and differs(flow.request, flow.request.port):
            refuse(flow, "mismatch")
        elif flow.response is None:
            self.tunnels.add(flow.client_conn.id)

    def tls_clienthello(self, data: Any) -> None:
        """A tunnel's first bytes: one with another server name than the host's is opened, and so refused."""
        asked, named = data.context.server.address[0], data.client_hello.sni
        data.ignore_connection = named is None or plain(named) == plain(asked)

    async def request(self, flow: Any) -> None:
        """A request in the clear, or one inside a tunnel that had to be opened."""
        if flow.client_conn.tls_established:
            refuse(flow, "mismatch")  # no other tunnel with TLS in it is opened
        elif flow.client_conn.id not in self.tunnels and differs(flow.request, 80):
            refuse(flow, "mismatch")
        else:
            await self.judge(flow)

    async def judge(self, flow: Any) -> None:
        """By the lists, then by every address; a name that cannot be resolved fails when it is dialled."""
        host, port = flow.request.host, flow.request.port
        which = listed(host, port)
        if not which:
            refuse(flow, "unlisted")
            return
        call = (flow.client_conn.id, host, port)
        known = self.judged.get(call) if flow.client_conn.id in self.tunnels else None
        try:
            found = [known] if known else await resolved(host, port)
        except (OSError, UnicodeError):
            return
        if all(may_reach(which, ipaddress.ip_address(each)) for each in found):
            self.judged[call] = found[0]
        else:
            refuse(flow, "refused by its address")

    def server_connect(self, data: Any) -> None:
        """The address that was judged is the one that is dialled."""
        host, port = data.server.address[:2]
        address = self.judged.get((data.client.id, host, port))
        if address is None:
            data.server.error = "no address of it was judged"
        else:
            data.server.address = (address, port)


async def resolved(host: str, port: int) -> list[str]:
    """All addresses of a name, as the system gives them."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(each[4][0]) for each in found]


def listed(host: str, port: int) -> str:
    """The list that has this host at this port, the tenant's first; empty when none has."""
    lists = json.loads(LISTS.read_text())
    return next(
        (which for which in ("tenant", "manifest") if any(covers(each, host, port) for each in lists[which])),
        "",
    )


def covers(entry: dict[str, Any], host: str, port: int) -> bool:
    """Whether one entry means this host at this port."""
    if entry["ports"] and port not in entry["ports"]:
        return False
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        name = plain(host)
        return name == entry.get("name") or ("below" in entry and name.endswith("." + entry["below"]))
    network = entry.get("network")
    return bool(network) and address in ipaddress.ip_network(network)


def may_reach(which: str, address: Any) -> bool:
    """Public addresses; for the tenant's list the private networks too."""
    address = getattr(address, "ipv4_mapped", None) or address
    if address.is_global and not address.is_multicast:
        return True
    return which == "tenant" and any(address in each for each in PRIVATE)


def differs(request: Any, default: int) -> bool:
    """Whether Host names another host or port than is asked for, or is missing where it must be."""
    named = request.host_header
    if named is None:
        return request.http_version != "HTTP/1.0"
    host, port = parse_authority(named, check=False)
    return plain(host) != plain(request.host) or (port or default) != request.port


def plain(host: str) -> str:
    """Lower case, in A-labels, without a dot at its end."""
    try:
        return host.lower().removesuffix(".").encode("idna").decode()
    except UnicodeError:  # no name: then it is on no list
        return host


def refuse(flow: Any, why: str) -> None:
    """An answer of the proxy's own."""
    flow.response = http.Response.make(403, f"{why}\n", {"Content-Type": "text/plain"})


addons = [Gate()]
