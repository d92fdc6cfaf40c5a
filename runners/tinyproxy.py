"""tinyproxy, told both lists as one filter that denies by default. Source: tinyproxy.conf(5), tinyproxy(8).

Its filter is a file of regular expressions. Matched against what is asked for (`FilterURLs`) and not against
the host alone, one says a host with its ports, for CONNECT and for plain HTTP; `ConnectPort` would be the
same for all hosts, and for CONNECT alone. It has no word for addresses.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping

from runners.contract import Found, Identity, Missing
from runners.forward import Forward, asks_elsewhere
from runners.local import find, which
from runners.server import LABEL, Site, Told
from runners.tier1.entries import ALL_PORTS, Below, Entry, Network
from runners.tier1.hosts import Literal, Name

_MOST = 500  # characters of a line of its filter, which it reads in pieces of 512
_HTTP = 80

_SITE = """\
Port {port}
Listen 127.0.0.1
Timeout 30
MaxClients 200
LogFile "{folder}/log"
LogLevel Connect
Filter "{folder}/filter"
FilterDefaultDeny Yes
FilterExtended Yes
FilterURLs Yes
FilterCaseSensitive No
"""


class Runner(Forward):
    """One process, one filter file, read again at SIGUSR1."""

    signal = signal.SIGUSR1
    re_read = "Re-reading filter file"

    def find(self, identity: Identity) -> Found | Missing:
        """tinyproxy, run by whoever runs this."""
        del identity
        return find("tinyproxy", Identity.current(), "apt-get install tinyproxy", "-v")

    def unsayable(self, told: Told) -> str:
        """A range, as expressions count no numbers; a line that is too long for its reader."""
        for entry in (*told.manifest, *told.tenant):
            if isinstance(entry.host, Network):
                return f"a range of addresses ({entry.host.network}) as a regular expression"
            if any(len(line) > _MOST for line in _lines(entry)):
                return f"a name so long that its filter would cut it: {entry.host}"
        return asks_elsewhere(told)

    def configuration(self, site: Site, told: Told) -> Mapping[str, str]:
        """tinyproxy.conf and the filter."""
        lines = (line for entry in (*told.tenant, *told.manifest) for line in _lines(entry))
        return {
            "tinyproxy.conf": _SITE.format(port=site.port, folder=site.folder),
            "filter": "".join(f"{line}\n" for line in lines),
        }

    def program(self, site: Site) -> tuple[str, ...]:
        """In the foreground."""
        return (which("tinyproxy"), "-d", "-c", str(site.folder / "tinyproxy.conf"))


def _lines(entry: Entry) -> Iterator[str]:
    """For CONNECT, where the port is always written, and for plain HTTP, where 80 need not be.

    Nothing but a slash may follow: with a `?` or `@` the program would go on to read another host.
    """
    host = _host(entry)
    ports = "[1-9][0-9]{0,4}" if entry.ports == ALL_PORTS else "|".join(str(port) for port in entry.ports)
    yield f"^{host}:({ports})$"
    yield f"^http://{host}(:({ports})){'?' if _HTTP in entry.ports else ''}(/.*)?$"


def _host(entry: Entry) -> str:
    match entry.host:
        case Name(text):
            return rf"{_escaped(text)}\.?"
        case Below(name):
            return rf"({LABEL}\.)+{_escaped(name)}\.?"
        case Literal() as literal:
            return _escaped(str(literal))
        case Network():
            raise AssertionError  # unsayable


def _escaped(text: str) -> str:
    return "".join(f"\\{each}" if each in ".[]" else each for each in text)
