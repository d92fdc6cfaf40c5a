"""What this machine can prove before anything runs: which sandboxes are here, which controls will fail.

It plants nothing and starts no sandbox; the programs are asked for their version only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from matrix.clients import needed
from matrix.model import Backend, Case, Mechanism, Table
from matrix.switches import ABSENT, USER_NAMESPACES, defeating
from runners.contract import Found, Missing

APT = "apt-get install "

INSTALLERS = {
    "debian": APT,
    "ubuntu": APT,
    "fedora": "dnf install ",
    "rhel": "dnf install ",
    "arch": "pacman -S ",
    "alpine": "apk add ",
    "suse": "zypper install ",
}
"""How a family of distributions, as ID or ID_LIKE of os-release name it, installs a package."""

RENAMED = {
    "docker.io": {"fedora": "moby-engine", "arch": "docker", "alpine": "docker", "suse": "docker"},
}
"""Packages that other families call otherwise."""


@dataclass(frozen=True, kw_only=True)
class Here:
    """What was measured of this machine and account."""

    platform: str
    facts: Mapping[str, str]
    interpreter: str  # what attacks are run by
    interpreter_fault: str = ""  # why that will not work
    world: str = ""  # why there can be no network world
    places: Mapping[str, str] = field(default_factory=dict[str, str])  # place → why nothing can be planted
    families: tuple[str, ...] = ()  # the distribution's ID and ID_LIKE
    clients: Mapping[str, str] = field(default_factory=dict[str, str])  # client program → why it cannot start


@dataclass(frozen=True, kw_only=True)
class Sandbox:
    """One column: where its program is, or what is missing and how to get it."""

    backend: str
    title: str
    default: bool
    version: str = ""
    path: str = ""
    missing: str = ""
    fix: str = ""


@dataclass(frozen=True, kw_only=True)
class Obstacle:
    """A switch of this machine that will make controls fail."""

    fact: str
    effect: str
    change: str
    cases: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """What can be proved of one mechanism here: every row, or which of them not and why."""

    mechanism: str
    title: str
    cases: int
    inconclusive: Mapping[str, str]  # case → why its control will fail

    @property
    def definitive(self) -> bool:
        """Whether it has rows, and nothing known stands against any of them."""
        return bool(self.cases) and not self.inconclusive


@dataclass(frozen=True, kw_only=True)
class Examination:
    """Everything that the doctor found."""

    here: Here
    sandboxes: tuple[Sandbox, ...]
    obstacles: tuple[Obstacle, ...]
    outlooks: tuple[Outlook, ...]

    @property
    def ready(self) -> bool:
        """Whether a run can prove anything: an interpreter, and one default sandbox with a program."""
        found = any(each.default and each.path for each in self.sandboxes)
        return found and not self.here.interpreter_fault

    def as_json(self) -> Mapping[str, Any]:
        """The same for a program."""
        outlooks = [asdict(each) | {"definitive": each.definitive} for each in self.outlooks]
        return asdict(self) | {"outlooks": outlooks, "ready": self.ready}


def examine(
    table: Table, backends: Iterable[Backend], find: Callable[[Backend], Found | Missing], here: Here
) -> Examination:
    """Put together what `find` says of each column and what the facts say of each row."""
    cases = [case for case in table.cases if here.platform in case.platforms]
    columns = [backend for backend in backends if here.platform in backend.platforms]
    mechanisms = [mechanism for mechanism in table.mechanisms if here.platform in mechanism.platforms]
    return Examination(
        here=here,
        sandboxes=tuple(_sandbox(backend, find(backend), here.families) for backend in columns),
        obstacles=tuple(_obstacles(cases, here.facts)),
        outlooks=tuple(_outlook(mechanism, cases, here) for mechanism in mechanisms),
    )


def install(fix: str, families: Sequence[str]) -> str:
    """The command of this distribution for one that was written for Debian."""
    family = next((each for each in families if each in INSTALLERS), "debian")
    if not fix.startswith(APT) or INSTALLERS[family] == APT:
        return fix
    packages = [RENAMED.get(name, {}).get(family, name) for name in fix.removeprefix(APT).split()]
    return INSTALLERS[family] + " ".join(packages)


def _sandbox(backend: Backend, found: Found | Missing, families: Sequence[str]) -> Sandbox:
    about = Sandbox(backend=backend.id, title=backend.title, default=backend.default)
    match found:
        case Found(version=version, path=path):
            return replace(about, version=version, path=path)
        case Missing(what=what, fix=fix):
            return replace(about, missing=what, fix=install(fix, families))


def _obstacles(cases: Sequence[Case], facts: Mapping[str, str]) -> Iterator[Obstacle]:
    """The switches that stand against rows, and against sandboxes that need a user namespace."""
    for switch in defeating(facts):
        # A row of the world finds there what the world sets.
        hit = tuple(case.id for case in cases if switch.name in case.switches and not case.world)
        if hit or switch.name in USER_NAMESPACES:
            fact = f"{switch.name}={facts[switch.name]}"
            yield Obstacle(fact=fact, effect=switch.effect, change=switch.change, cases=hit)


def _outlook(mechanism: Mechanism, cases: Sequence[Case], here: Here) -> Outlook:
    mine = [case for case in cases if case.mechanism == mechanism.id]
    reasons = {case.id: _against(case, here) for case in mine}
    return Outlook(
        mechanism=mechanism.id,
        title=mechanism.title,
        cases=len(mine),
        inconclusive={case: why for case, why in reasons.items() if why},
    )


def _against(case: Case, here: Here) -> str:
    """Why the control of a row will fail; empty where nothing known stands against it."""
    if case.world and here.world:
        return "no network world"
    if why := here.places.get(case.place):
        return why
    if gone := [name for name in sorted(needed(case)) if name in here.clients]:
        return here.clients[gone[0]]
    facts = here.facts
    found = (
        [] if case.world else [f"{each.name}={facts[each.name]}" for each in defeating(facts, case.switches)]
    )
    protocols = [name for name in case.switches if name.startswith("protocol.") and facts.get(name) == ABSENT]
    return ", ".join([*found, *(f"{name}={ABSENT}" for name in protocols)])
