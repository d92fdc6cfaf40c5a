"""A real forward proxy beside a command that nothing confines.

What a proxy cannot be told is not asked of it: every entry of both lists, with its ports, must be sayable in
the proxy's own configuration, or the row is not expressible. Which *addresses* a listed name may lead to is
another matter. A proxy that has no word for addresses at all can still be told the lists: it is asked, and
shows what it does with a name that leads to a private place. One that has a word, but the same for all names,
cannot be told two lists of different reach: whatever it was told would be our answer and not the proxy's, so
it is not asked.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from runners import process
from runners.contract import (
    ARGV_CHANNELS,
    Channel,
    Denial,
    Egress,
    Expressible,
    Inexpressible,
    Launch,
    Policy,
    Proposal,
    Running,
    StartError,
)
from runners.local import Local
from runners.server import Server, Site, Told
from runners.tier1.entries import Entry, Fault, Which, parse_entry

RESOLV_CONF = Path("/etc/resolv.conf")
DNS = 53


class Forward(Local, ABC):
    """What the runners of forward proxies have in common. Each is a `server.Kind` too."""

    channels = ARGV_CHANNELS | {Channel.PROXY}
    signal: int = 0
    re_read: str = ""

    @abstractmethod
    def configuration(self, site: Site, told: Told) -> Mapping[str, str]:
        """Its files, by name, in the site's folder."""

    @abstractmethod
    def program(self, site: Site) -> tuple[str, ...]:
        """What runs it in the foreground."""

    @abstractmethod
    def unsayable(self, told: Told) -> str:
        """What of this the proxy has no words for; empty where it has."""

    def leaves(self, site: Site) -> tuple[str, ...]:
        """Files that it makes outside the site's folder: most make none."""
        del site
        return ()

    def refuses(self, folder: Path) -> str:
        """Why the program itself takes no files like these; most cannot be asked beforehand."""
        del folder
        return ""

    def url(self, site: Site) -> str:
        """Where its client finds it."""
        return f"http://127.0.0.1:{site.port}"

    def express(self, policy: Policy) -> Expressible | Inexpressible:
        """Whether the proxy can be told these lists. The command itself is confined by nothing."""
        for egress in filter(None, (policy.egress, policy.egress and policy.egress.neighbour)):
            read = self.read(egress)
            if isinstance(read, Inexpressible):
                return read
        return super().express(policy)

    def read(self, egress: Egress) -> Told | Inexpressible:
        """What the proxy is told, or why it cannot be."""
        if egress.detours:
            return Inexpressible("it dials addresses as they are, and knows no detours")
        told = {"manifest": list[Entry](), "tenant": list[Entry]()}
        lists: tuple[tuple[Which, tuple[str, ...]], ...] = (
            ("manifest", egress.manifest),
            ("tenant", egress.tenant),
        )
        for which, texts in lists:
            for text in texts:
                entry = parse_entry(text, which)
                if isinstance(entry, Fault):
                    return Inexpressible(str(entry))
                told[which].append(entry)
        both = Told(manifest=tuple(told["manifest"]), tenant=tuple(told["tenant"]), resolver=egress.resolver)
        why = self.unsayable(both)
        return Inexpressible(why) if why else both

    def start(self, launch: Launch) -> Running:
        """The proxy, then the command with its variables. Raises StartError."""
        return Behind(self, launch)


class Behind:
    """A command, and the proxies that it may use. Satisfies `Proxied`; ends both."""

    def __init__(self, runner: Forward, launch: Launch) -> None:
        self._runner = runner
        self._folder = launch.run / f"proxy-{secrets.token_hex(4)}"
        self._folder.mkdir(mode=0o700)
        self._neighbour: Server | None = None
        self._proxy = self._server("own")
        try:
            if launch.policy.egress:
                self.renew(launch.policy.egress)
            variables = _variables(runner.url(self._proxy.site))
            self._command = process.start(launch, launch.command, {**runner.environment(launch), **variables})
        except BaseException:
            self._end()
            raise
        said = (f"{name}={value}" for name, value in variables.items())
        self.argv = (*runner.program(self._proxy.site), "&", "env", *said, *launch.command)
        self.pid, self.output, self.errors = self._command.pid, self._command.output, self._command.errors
        self.poll, self.kill = self._command.poll, self._command.kill

    def renew(self, egress: Egress) -> None:
        """A fresh process with these lists at the same port. Raises StartError."""
        self._proxy.start(self._read(egress))
        if self._neighbour:
            self._neighbour.end()
            self._neighbour = None
        if egress.neighbour:
            self._neighbour = self._server("neighbour")
            self._neighbour.start(self._read(egress.neighbour))

    def change(self, egress: Egress) -> tuple[str, ...]:
        """As its manual has it; gives why the proxy itself refused. StartError for what cannot be said."""
        why = self._proxy.change(self._read(egress))
        return (why,) if why else ()

    def denials(self) -> Sequence[Denial]:
        """None: what it logs of a refusal is no record with a list to change."""
        return ()

    def proposals(self) -> Sequence[Proposal]:
        """None."""
        return ()

    def dials(self) -> Sequence[str]:
        """None: it logs where it has been, after it was there."""
        return ()

    def log(self) -> str:
        """Its own log, the end of it."""
        return self._proxy.log()

    @property
    def neighbour(self) -> str:
        """Where the neighbour's proxy is; without the neighbour's secret, where it has one."""
        return f"http://127.0.0.1:{self._neighbour.site.port}" if self._neighbour else ""

    def close(self) -> None:
        """Give back the descriptors; no proxy of ours is left."""
        self._command.close()
        self._end()

    def _server(self, name: str) -> Server:
        return Server(self._runner, self._folder / name, secrets.token_hex(16))

    def _read(self, egress: Egress) -> Told:
        told = self._runner.read(egress)
        if isinstance(told, Inexpressible):
            raise StartError(f"the proxy cannot be told this: {told.why}")
        return told

    def _end(self) -> None:
        self._proxy.end()
        if self._neighbour:
            self._neighbour.end()


def asks_elsewhere(told: Told) -> str:
    """Why a program that asks whom the system asks is asking another than the policy's; empty where not."""
    asked = _nameserver()
    if told.resolver != (asked, DNS):
        return f"it asks {asked}, the resolver of {RESOLV_CONF}, and takes no other"
    return ""


def _nameserver() -> str:
    """The first that the system would ask; where none is named, the one of this machine: resolv.conf(5)."""
    try:
        lines = RESOLV_CONF.read_text().splitlines()
    except FileNotFoundError:
        lines = []
    named = (line.split() for line in lines)
    return next((words[1] for words in named if words[:1] == ["nameserver"] and words[1:]), "127.0.0.1")


def _variables(url: str) -> dict[str, str]:
    names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
    return {**dict.fromkeys(names, url), "NODE_USE_ENV_PROXY": "1"}
