"""Which client programs rows need, and which are here."""

from pathlib import Path

import pytest

from matrix import clients, doctor, locate
from matrix.load import load_table
from matrix.model import Mechanism
from runners.contract import Identity

ROWS = [case for case in load_table(locate.table()).cases if case.attack == "proxy_client"]


def test_every_row_s_clients_are_known():
    assert ROWS
    for case in ROWS:
        assert clients.needed(case), case.id
        assert clients.needed(case) <= {*clients.PROGRAMS, *clients.KIT}, case.id


@pytest.fixture
def kit(tmp_path):
    for file in clients.KIT.values():
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).touch()
    tmp_path.chmod(0o755)
    return tmp_path


def test_what_is_not_made_is_missing(kit):
    assert not {*clients.KIT} & clients.missing(Identity.current(), kit).keys()
    (kit / clients.KIT["node20"]).unlink()
    assert "make clients" in clients.missing(Identity.current(), kit)["node20"]


def test_programs_of_the_system_are_looked_for_where_sandboxes_look(kit, monkeypatch):
    monkeypatch.setattr(
        clients.shutil, "which", lambda name, path: None if name == "wget" else f"/usr/bin/{name}"
    )
    found = clients.missing(Identity.current(), kit)
    assert found == {"wget": "wget is not installed: apt-get install wget"}


def test_a_kit_behind_a_closed_door_is_missing(kit):
    kit.chmod(0o700)
    somebody = Identity(name="ann", uid=54321, gid=54321, groups=(), home=Path("/home/ann"))
    assert "ann cannot reach" in clients.missing(somebody, kit)["go"]


def test_the_doctor_says_which_rows_it_costs():
    mechanism = Mechanism(id="egress", title="", why="", platforms=("linux",), references=())
    here = doctor.Here(
        platform="linux", facts={}, interpreter="", clients={"go": "go is not there: make clients"}
    )
    rows = [case for case in ROWS if case.mechanism == "egress"]
    outlook = doctor._outlook(mechanism, rows, here)
    assert set(outlook.inconclusive) == {case.id for case in rows if "go" in clients.needed(case)}
    assert set(outlook.inconclusive.values()) == {"go is not there: make clients"}
