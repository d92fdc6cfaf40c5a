"""Squid, told both lists as access lists of its own. Sources: squid(8), squid.conf.documented, 5.7.

Its `dst` type knows the addresses that a name resolves to, so that the two lists can have their different
reach: a rule for the manifest's names allows none that leads to a private or special address, one for the
tenant's none that leads to a special one. `-n` keeps a name from being looked up to compare it with an
address, and an address from being given its name.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from runners.contract import Found, Identity, Missing
from runners.forward import DNS, Forward
from runners.local import find, which
from runners.networks import networks
from runners.server import LABEL, Site, Told
from runners.tier1.entries import ALL_PORTS, Below, Entry, Network
from runners.tier1.hosts import Literal, Name

_FIX = "apt-get install squid"
_SHARED = ("metadata", "queues", "readers")
_AS_NOBODY = ("--user", "--map-user=65534", "--map-group=65534", "--")

_SITE = """\
http_port 127.0.0.1:{port}
dns_nameservers {resolver}
hosts_file none
access_log stdio:{folder}/access
cache_log {folder}/log
pid_filename none
coredump_dir none
netdb_filename none
logfile_rotate 0
cache deny all
cache_mem 0 MB
pinger_enable off
visible_hostname proxy
shutdown_lifetime 0 seconds
positive_dns_ttl 1 second
negative_dns_ttl 1 second
host_verify_strict on
"""


class Runner(Forward):
    """`addresses` off leaves the `dst` rules out: names and ports alone, as most configurations have them."""

    OPTIONS: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "addresses": {
                "type": "boolean",
                "description": "Whether the lists' reach is told as dst access lists (default: true).",
            }
        },
    }
    signal = signal.SIGHUP
    re_read = "Accepting HTTP Socket connections"

    def find(self, identity: Identity) -> Found | Missing:
        """squid, run by whoever runs this; as uid 0 with unshare, as it would change its account."""
        del identity
        found = find("squid", Identity.current(), _FIX, "-v")
        if isinstance(found, Found) and os.geteuid() == 0 and not Path(which("unshare")).is_absolute():
            return Missing("unshare is not installed", "apt-get install util-linux")
        return found

    def unsayable(self, told: Told) -> str:
        """Whom it asks is an address: the port is DNS's."""
        return (
            ""
            if told.resolver[1] == DNS
            else f"a resolver at port {told.resolver[1]}: its dns_nameservers has none"
        )

    def configuration(self, site: Site, told: Told) -> Mapping[str, str]:
        """squid.conf, whole: nothing of the system's own is read."""
        head = _SITE.format(port=site.port, folder=site.folder, resolver=told.resolver[0])
        judged = self.options.get("addresses", True)
        return {"squid.conf": head + "".join(f"{line}\n" for line in _rules(told, judged=judged))}

    def refuses(self, folder: Path) -> str:
        """What `squid -k parse` says: a running one that reads a bad file ends."""
        done = subprocess.run(
            [*_squid(), "-k", "parse", "-f", str(folder / "squid.conf")],
            capture_output=True,
            errors="replace",
            check=False,
        )
        return done.stderr.strip()[-500:] if done.returncode else ""

    def program(self, site: Site) -> tuple[str, ...]:
        """In the foreground, as one process."""
        return (*_squid(), "-N", "-n", _service(site), "-f", str(site.folder / "squid.conf"))

    def leaves(self, site: Site) -> tuple[str, ...]:
        """Shared memory of that service's name, which two squids must not have in common."""
        return tuple(f"/dev/shm/{_service(site)}-cf__{part}.shm" for part in _SHARED)  # noqa: S108 - its place


def _service(site: Site) -> str:
    """Letters and digits that no other squid of this machine has."""
    return f"em{site.secret[:16]}"


def _squid() -> tuple[str, ...]:
    """The program, as uid 0 under another number for the same account.

    It would become the account `proxy` else, which user namespaces do not have and which may not read here.
    """
    squid = which("squid")
    return (which("unshare"), *_AS_NOBODY, squid) if os.geteuid() == 0 else (squid,)


def _rules(told: Told, *, judged: bool) -> Iterator[str]:
    """Access lists, then the rules in their order: the tenant's, the manifest's, and nothing else."""
    yield "acl literal dst -n all"
    for kind in ("special", "private") if judged else ():
        yield from (f"acl {kind} dst {network}" for network in networks(kind))
    reach = {"tenant": " !special", "manifest": " !special !private"}
    for name, entries in (("tenant", told.tenant), ("manifest", told.manifest)):
        for number, entry in enumerate(entries):
            host, ports = f"{name}{number}", f"{name}{number}ports"
            yield f"acl {host} {_host(entry)}"
            yield f"acl {ports} port {_ports(entry)}"
            but = " !literal" if isinstance(entry.host, Below) else ""
            yield f"http_access allow {host} {ports}{but}{reach[name] if judged else ''}"
    yield "http_access deny all"


def _host(entry: Entry) -> str:
    match entry.host:
        case Name(text):
            return f"dstdomain -n {text}"
        case Below(name):
            return rf"dstdom_regex -n -i ^({LABEL}\.)+{name.replace('.', chr(92) + '.')}$"
        case Literal(address):
            return f"dst -n {address}"
        case Network(network):
            return f"dst -n {network}"


def _ports(entry: Entry) -> str:
    return "1-65535" if entry.ports == ALL_PORTS else " ".join(str(port) for port in entry.ports)
