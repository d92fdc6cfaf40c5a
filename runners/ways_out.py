"""Whether a packet could leave this network namespace: asked before anything is dialled for a row.

Sources: proc_net(5) (route, ipv6_route), network_namespaces(7).
"""

from __future__ import annotations

import ipaddress
import sys
from pathlib import Path


def leads_out() -> str:
    """The first route by which a packet could leave this network namespace; empty when there is none.

    Loopback alone is no way out. Where there are no network namespaces, everything may lead out.
    """
    if not sys.platform.startswith("linux"):
        return f"{sys.platform} has no network namespaces"
    for line in _lines("/proc/self/net/route")[1:]:
        interface, destination, gateway, *_ = line.split()
        if interface != "lo":
            return f"IPv4 route {_dotted(destination)} by {_dotted(gateway)} on {interface}"
    for line in _lines("/proc/self/net/ipv6_route"):
        fields = line.split()
        if fields[-1] != "lo":
            return f"IPv6 route {fields[0]}/{int(fields[1], 16)} on {fields[-1]}"
    return ""


def _dotted(hexadecimal: str) -> str:
    return str(ipaddress.IPv4Address(int(hexadecimal, 16).to_bytes(4, sys.byteorder)))


def _lines(path: str) -> list[str]:
    """The lines of a kernel table; none where the kernel was built without it."""
    try:
        return Path(path).read_text(encoding="ascii").splitlines()
    except FileNotFoundError:
        return []
