"""Pretended sandboxes whose only part is a proxy, one for each way in which a proxy can lie.

Each is a tiny CONNECT proxy in this very process, beside a command that nothing confines: what is
tested is what the harness makes of it. They run in a world, which a child enters: see `verdicts`.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any

from matrix.arm import Setting
from matrix.bracket import attempt, control, verdicts
from matrix.ledger import Run
from matrix.model import Case, Untested
from matrix.proxied import plain
from matrix.sweep import sweep
from runners.contract import (
    ARGV_CHANNELS,
    Channel,
    Denial,
    Egress,
    Identity,
    Launch,
    Policy,
    Proposal,
    Running,
    StartError,
)
from runners.local import Local

PRIVATE, PUBLIC = "$PRIV10", "$PUB4_A"
BODIES = {"unlisted": "add to the manifest or the tenant's list", "private": "add to the tenant's list"}
REMEDY = {"unlisted": ("manifest", "tenant"), "private": ("tenant",)}


def row(name: str, **more: Any) -> Case:
    """A proxied row, whose name has an address."""
    known = {
        "other.test": [{"A": [PUBLIC]}],
        "wiki.test": [{"A": [PRIVATE]}],
        "api.test": [{"A": [PUBLIC]}, {"A": ["$PUB4_B"]}],
    }
    answers = {host: known[host] for host in known if f"{host}:443" in str(more)}
    given = {
        "id": name,
        "title": name,
        "mechanism": "egress",
        "platforms": ("linux",),
        "answers": answers,
        **more,
    }
    said = plain(given, ())
    return Case(**{**said, "channels": frozenset(Channel(each) for each in said["channels"])})


ROWS = (
    row(
        "unlisted",
        policy={"manifest": ["api.test"]},
        request={"connect": "other.test:443"},
        expect={"deny": "unlisted", "learn": "other.test"},
        never_dial=[PUBLIC],
    ),
    row(
        "private",
        policy={"manifest": ["wiki.test"]},
        request={"connect": "wiki.test:443"},
        expect={"deny": "private", "class": "private"},
        never_dial=[PRIVATE],
    ),
    row(
        "allowed",
        policy={"manifest": ["api.test"]},
        request={"connect": "api.test:443"},
        expect={"allow": PUBLIC},
    ),
    row(
        "removed",
        policy={"tenant": ["wiki.test"]},
        steps=[
            {"request": {"connect": "wiki.test:443"}, "expect": {"allow": PRIVATE}},
            {
                "change": {"tenant": []},
                "request": {"connect": "wiki.test:443"},
                "expect": {"deny": "unlisted"},
                "never_dial": [PRIVATE],
            },
        ],
    ),
)


class Proxy(Local):
    """A runner whose proxy is honest but for its mode; it has one launch."""

    channels = ARGV_CHANNELS | {Channel.PROXY, Channel.RECORDS}

    def __init__(self, mode: str) -> None:
        super().__init__({})
        self.mode, self.renewed, self.running = mode, 0, None
        self.egress, self.records = Egress(), list[Denial]()
        self.later: list[tuple[str, int]] = []  # refused, and dialled all the same when the next row begins

    def express(self, policy: Policy) -> Any:
        """Whatever it is asked."""
        return super().express(replace(policy, hidden=(), protected=()))

    def argv(self, launch: Launch) -> tuple[str, ...]:
        """The bare command."""
        return launch.command

    def start(self, launch: Launch) -> Running:
        """Beside the proxy's thread."""
        if self.mode == "never starts":
            raise StartError("no such proxy")
        self.door = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.serve, args=(self.door,), daemon=True).start()
        url = f"http://127.0.0.1:{self.door.getsockname()[1]}"
        if self.mode == "dead":
            self.door.shutdown(socket.SHUT_RDWR)
            self.door.close()
        granted = {**launch.policy.environment, "http_proxy": url}
        started = super().start(replace(launch, policy=replace(launch.policy, environment=granted)))
        return Beside(self, started)

    def serve(self, door: socket.socket) -> None:
        """One thread a connection."""
        with suppress(OSError):
            while True:
                client, _ = door.accept()
                threading.Thread(target=self.visit, args=(client,), daemon=True).start()

    def visit(self, client: socket.socket) -> None:
        """One CONNECT."""
        with suppress(OSError, IndexError), client:
            head = client.recv(65536).decode("latin-1")
            host, _, port = head.split()[1].rpartition(":")
            if self.mode == "hangs":
                threading.Event().wait(30)
            if self.mode == "cannot resolve" and not host.startswith("beside-"):
                client.sendall(b"HTTP/1.1 504 Gateway Timeout\r\n\r\n")
                return
            said = self.judged(host, int(port))
            client.sendall(
                f"HTTP/1.1 {said}\r\n\r\n".encode() if isinstance(said, str) else b"HTTP/1.1 200 OK\r\n\r\n"
            )
            if isinstance(said, str):
                return
            if said is None:
                client.recv(65536)
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
                return
            with said:
                said.sendall(client.recv(65536))
                client.sendall(said.recv(65536))

    def judged(self, host: str, port: int) -> str | socket.socket | None:
        """A refusal, a connection outside, or nothing where it answers by itself."""
        address = socket.getaddrinfo(host, port, socket.AF_INET)[0][4][0]
        match self.mode:
            case "leaks":
                kind = ""
            case "refuses everything":
                kind = "unlisted"
            case "answers by itself":
                return None
            case "allows elsewhere":
                kind, address = "", "11.22.99.99"
            case "answers the twin alone":
                kind = "" if host.startswith("beside-") else "unlisted"
            case _:
                kind = self.kind(host, address)
        if not kind:
            return socket.create_connection((address, port), timeout=5)
        if self.mode != "keeps no record":
            said = "special" if self.mode == "records another kind" else kind
            self.records.append(
                Denial(kind=said, host=host, port=port, address_class="private" if kind == "private" else "",
                       address=address, remedy=REMEDY[kind])
            )  # fmt: skip
        if self.mode == "dials later":
            self.later.append((address, port))
        secret = f" ({address})" if self.mode == "tells the address" else ""
        return f"403 Forbidden: {kind}; {BODIES[kind]}{secret}"

    def kind(self, host: str, address: str) -> str:
        """Why an honest proxy refuses; empty where it does not."""
        if host in self.egress.tenant:
            return ""
        if host not in self.egress.manifest:
            return "unlisted"
        return "private" if ipaddress.ip_address(address) in ipaddress.ip_network("10.0.0.0/8") else ""


class Beside:
    """The command, with the proxy's handle. Satisfies `Proxied`."""

    neighbour = ""

    def __init__(self, proxy: Proxy, running: Running) -> None:
        self.proxy, self.running = proxy, running

    def __getattr__(self, name: str) -> Any:
        return getattr(self.running, name)

    def renew(self, egress: Egress) -> None:
        """As if just started; one that dies in mid-batch does so at the third row."""
        self.proxy.renewed += 1
        if self.proxy.mode == "dies in mid-batch" and self.proxy.renewed == 3:
            with suppress(OSError):
                self.proxy.door.shutdown(socket.SHUT_RDWR)
            self.proxy.door.close()
        if self.proxy.mode == "dies in mid-batch" and self.proxy.renewed >= 3:
            raise StartError("the proxy is gone")
        self.proxy.egress, self.proxy.records = egress, []
        while self.proxy.later:
            socket.create_connection(self.proxy.later.pop(), timeout=5).close()

    def change(self, egress: Egress) -> tuple[str, ...]:
        """One that is deaf says that it has changed."""
        if self.proxy.mode != "is deaf to changes":
            self.proxy.egress = egress
        return ()

    def denials(self) -> list[Denial]:
        return self.proxy.records

    def proposals(self) -> list[Proposal]:
        return [Proposal(lists=denial.remedy, entry=denial.host) for denial in self.proxy.records]

    def dials(self) -> list[str]:
        return []

    def log(self) -> str:
        return ""

    def close(self) -> None:
        with suppress(OSError):
            self.proxy.door.close()
        self.running.close()


def all_verdicts(modes: list[str], seconds: float) -> dict[str, dict[str, tuple[str, str]]]:
    """In a world: what each mode comes to, by row: (the verdict's word or the reason, the evidence)."""
    return {mode: _verdicts(mode, seconds) for mode in modes}


def _verdicts(mode: str, seconds: float) -> dict[str, tuple[str, str]]:
    run = Run.create()
    rows = ROWS if mode != "hangs" else tuple(replace(case, seconds=seconds) for case in ROWS[:1])
    try:
        setting = Setting(run=run, identity=Identity.current())
        with ExitStack() as stack:
            before = control(stack, rows, setting, "before")
            attempts = attempt(stack, [rows], Proxy(mode), setting, before)
            after = control(stack, rows, setting, "after")
            found = verdicts(rows, before, attempts, after)
        return {name: _word(one.verdict) for name, one in found.items()}
    finally:
        assert sweep(run) == []


def _word(verdict: Any) -> tuple[str, str]:
    word = str(verdict.reason) if isinstance(verdict, Untested) else type(verdict).__name__.lower()
    return word, verdict.evidence
