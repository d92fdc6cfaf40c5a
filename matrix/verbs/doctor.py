"""`escape-matrix doctor`: what this machine can prove, and what to do about the rest."""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

from matrix import clients, host, locate, verbs, world
from matrix.doctor import Examination, Here, examine
from matrix.errors import Code
from matrix.load_backends import make_runner
from matrix.material import read
from matrix.model import Backend
from matrix.places import hindrance
from matrix.selection import Asked, platform, select
from matrix.verbs import options
from matrix.visible import visible
from runners.contract import Found, Identity, Missing, default_python
from runners.local import reaches

WHAT = """\
Say what this machine can prove. Which sandboxes, proxies and client programs are here and how to get the
others, which switches will make controls fail and how to change them, and for which mechanisms a run will be
definitive. Nothing is planted, and no sandbox is started. Ends with 11 where no run could prove anything."""

EXAMPLE = """\
escape-matrix doctor
escape-matrix doctor --backends my-sandbox.toml
sudo escape-matrix doctor --user builder --json"""


def add(found: verbs.Verbs) -> None:
    """The verb's parser."""
    parser = verbs.parser(found, "doctor", act, what=WHAT, example=EXAMPLE)
    options.files(parser)
    parser.add_argument("--user", default="", metavar="NAME", help="look as this account (default: your own)")
    parser.add_argument("--json", action="store_true", help="the same for a program")


def act(args: argparse.Namespace) -> int:
    """Examine and tell."""
    identity = select(Asked(user=args.user)).identity
    material = read(args.table, args.backend_files)

    def find(backend: Backend) -> Found | Missing:
        return make_runner(backend).find(identity)

    standing = world.standing()
    path, fault = interpreter(identity)
    machine = host.this_machine()
    here = Here(
        platform=platform(),
        facts=host.facts(identity, machine),
        interpreter=path,
        interpreter_fault=fault,
        world=standing.why if isinstance(standing, world.Impossible) else "",
        places={row.place: why for row in material.table.cases if (why := hindrance(identity, row.place))},
        families=host.families(machine),
        clients=clients.missing(identity, locate.clients()),
    )
    found = examine(material.table, material.backends, find, here)
    print(json.dumps(found.as_json(), indent=2) if args.json else "\n".join(tell(found)))
    return Code.CLEAN if found.ready else Code.NOT_TESTED


def interpreter(identity: Identity) -> tuple[str, str]:
    """The interpreter that attacks run by, and why that will not work."""
    path = default_python()
    if not reaches(identity, Path(path)):
        return path, f"{identity.name} may not execute {path}: install Python where every account can"
    try:
        done = subprocess.run(
            [
                path,
                "-I",
                "-S",
                "-c",
                "import sys; print(sys.version_info[:2] >= (3, 8), sys.version.split()[0])",
            ],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return path, f"{path} does not run: {error}"
    fits, _, version = done.stdout.strip().partition(" ")
    if fits != "True":
        return path, f"{path} is Python {version or 'of no version'}: attacks need 3.8 or newer"
    return f"{path} (Python {version})", ""


def tell(found: Examination) -> Iterator[str]:
    """The examination for a person."""
    here, facts = found.here, found.here.facts
    yield f"host        {facts['kernel']}, {facts.get('distribution', facts.get('macos', ''))}"
    yield f"account     uid {facts['uid']}" + (", which hides differences" if facts["uid"] == "0" else "")
    yield f"interpreter {here.interpreter_fault or here.interpreter}"
    yield f"world       {here.world or 'a network namespace can be made'}"
    gone = here.clients
    there = [name for name in (*clients.PROGRAMS, *clients.KIT) if name not in gone]
    yield f"clients     {', '.join(there) or 'none'}"
    yield from (f"            {why}" for why in gone.values())
    yield from _sandboxes(found)
    yield from _obstacles(found)
    yield from _outlooks(found)
    if not found.ready:
        yield ""
        yield "No run could prove anything here: it takes an interpreter and one default sandbox."


def _sandboxes(found: Examination) -> Iterator[str]:
    yield ""
    yield "Sandboxes"
    width = max((len(each.backend) for each in found.sandboxes), default=0)
    for each in found.sandboxes:
        name = each.backend.ljust(width)
        if not each.missing:
            yield f"  found    {name}  {visible(each.version)}" + (f"  {each.path}" if each.path else "")
            continue
        yield f"  missing  {name}  {visible(each.missing)}"
        if each.fix:
            yield f"           {' ' * width}  fix: {each.fix}"


def _obstacles(found: Examination) -> Iterator[str]:
    if not found.obstacles:
        return
    yield ""
    yield "Switches that stand against this account"
    for each in found.obstacles:
        yield f"  {each.fact}: {each.effect}"
        yield f"    change: {each.change}"


def _outlooks(found: Examination) -> Iterator[str]:
    yield ""
    yield "What a run can prove of each mechanism, as far as can be known before one"
    width = max((len(each.mechanism) for each in found.outlooks), default=0)
    for each in found.outlooks:
        name = each.mechanism.ljust(width)
        if each.definitive:
            yield f"  definitive    {name}  {each.cases} rows"
            continue
        yield f"  inconclusive  {name}  {len(each.inconclusive)} of {each.cases} rows"
        for why in dict.fromkeys(each.inconclusive.values()):
            cases = [case for case, reason in each.inconclusive.items() if reason == why]
            more = f" and {len(cases) - 3} more" if len(cases) > 3 else ""  # noqa: PLR2004 - a line
            yield f"                {' ' * width}  {why}: {', '.join(cases[:3])}{more}"
