"""What the network tests share: a ground to plant on, and functions that a child in the world can import."""

import os
import re
import socket
import subprocess
from pathlib import Path

from matrix import locate, world
from matrix.arm import Setting
from matrix.execute import execute
from matrix.ledger import Run
from matrix.load import load_table
from matrix.model import Backend, Case, Leg
from matrix.plan import Unit
from matrix.sweep import sweep
from matrix.witnesses.contract import Ground
from runners.contract import Identity
from runners.registry import runner_class


def ground(directory: Path, *, place: str = "beside", **plant: object) -> Ground:
    """Ground in a temporary directory, for a row that plants that."""
    corner = directory / "corner"
    corner.mkdir(exist_ok=True)

    def fresh(_: str) -> Path:
        made = directory / "outside"
        made.mkdir()
        return made

    return Ground(
        case=Case(
            id="row", title="t", mechanism="loopback", platforms=("linux",), attack="lo_tcp",
            witness="tcp", decisive="socket", plant=plant, place=place,
        ),
        arm="attempt", run=directory, workspace=directory, corner=corner,
        identity=Identity.current(), record=lambda kind, name: None, place=fresh,
    )  # fmt: skip


def furnished() -> list[str]:
    """The addresses, of all that rows need, that cannot be bound here."""
    missing = []
    for address in (*world.OWN, *world.GATEWAYS, "127.0.0.1", world.ULA):
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
            try:
                probe.bind((address, 0))
            except OSError:
                missing.append(address)
    return missing


def with_another_link() -> tuple[str, str]:
    """What leads_out() says before and after the world gets a link that is not loopback."""
    before = world.leads_out()
    for command in (
        "ip link add one type veth peer name two",
        "ip address add 198.51.100.1/24 dev one",
        "ip link set one up",
    ):
        subprocess.run(command.split(), check=True)
    return before, world.leads_out()


def namespaces() -> tuple[str, str]:
    """This process's network and mount namespace."""
    return os.readlink("/proc/self/ns/net"), os.readlink("/proc/self/ns/mnt")


def fail() -> None:
    """Raise something that says where it came from."""
    raise LookupError("from the world")


def verdicts(runner: str, options: dict[str, object], pattern: str) -> dict[str, str]:
    """In the world: the evidence of each Linux row whose id fits, begun with the verdict's word."""
    table = load_table(locate.testdata() / "egress-cases.json")
    cases = tuple(c for c in table.cases if re.match(pattern, c.id) and "linux" in c.platforms)
    backend = Backend(id="b", title="b", runner=runner, platforms=("linux",), options=options, claims=None)
    unit = Unit(backend=backend, key="world", cases=cases)
    run, started = Run.create(), runner_class(runner)(options)
    try:
        setting = Setting(run=run, identity=Identity.current())
        leg = Leg(platform="linux", identity="root")
        cells, vigil = execute(unit, started, setting, leg)
        vigil.end()
    finally:
        started.close()
        sweep(run)
    return {cell.case: f"{cell.word} {cell.verdict.evidence}" for cell in cells}
