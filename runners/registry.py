"""From a runner's name in a backends file to its class. Nothing is imported before it is used."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points

from runners import contract

BUILT_IN = {
    "unconfined": "runners.unconfined",
    "command": "runners.command",
    "unshare": "runners.unshare",
    "bubblewrap": "runners.bubblewrap",
    "tier1": "runners.tier1.runner",
    "firejail": "runners.firejail",
    "nsjail": "runners.nsjail",
    "docker": "runners.docker",
    "squid": "runners.squid",
    "tinyproxy": "runners.tinyproxy",
    "mitmproxy": "runners.mitmproxy",
    "srt": "runners.srt",
}
"""The module of each kind of sandbox; its class is `Runner`."""

GROUP = "escape_matrix.runners"
"""The entry-point group by which another package brings runners of its own: name = "module:Class"."""


def names() -> tuple[str, ...]:
    """Every runner's name, our own first."""
    found = entry_points(group=GROUP)
    return (*BUILT_IN, *sorted({point.name for point in found} - BUILT_IN.keys()))


def runner_class(name: str) -> type[contract.Runner] | None:
    """The class of that name, None where there is none. A name of ours cannot be taken over."""
    if name in BUILT_IN:
        return importlib.import_module(BUILT_IN[name]).Runner
    for point in entry_points(group=GROUP, name=name):
        return point.load()
    return None
