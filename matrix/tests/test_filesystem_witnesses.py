"""What the filesystem witnesses see, what they must not take for a sighting, and when they are blind."""

import fcntl
import itertools
import os
from pathlib import Path

import pytest

from matrix.evidence import Acted, Attempted, Nothing, Seen
from matrix.model import Case
from matrix.witnesses import file_change, file_lock, file_read, launch_trap
from matrix.witnesses.contract import Ground, Unplantable
from runners.contract import Identity


@pytest.fixture
def ground(tmp_path):
    """Makes a ground for a row with that plant, in a workspace of its own."""
    count = itertools.count()

    def make(arm="attempt", args=None, **plant):
        number = next(count)
        workspace = tmp_path / f"around-{number}" / "ws"
        corner = workspace / "row"
        corner.mkdir(parents=True)

        def place(name):
            folder = tmp_path / f"{name}-{next(count)}"
            folder.mkdir()
            return folder

        case = Case(
            id="row", title="", mechanism="", platforms=("linux",), attack="", witness="", decisive="open",
            plant=plant, args=args or {},
        )  # fmt: skip
        return Ground(
            case=case, arm=arm, run=tmp_path, workspace=workspace, corner=corner, identity=Identity.current(),
            record=lambda kind, name: None, place=place,
        )  # fmt: skip

    return make


@pytest.fixture
def planted(ground, request):
    """Plants the witness of a module and closes it at the end; gives it and what it told."""

    def make(module, **plant):
        witness = module.Witness(ground(**plant))
        request.addfinalizer(witness.close)
        return witness, witness.plant()

    return make


def acted(trace="", inside=""):
    return Attempted(said=Acted(trace=trace, inside=inside))


CHANGES = {
    "written": lambda path: path.write_text("other"),
    "touched": lambda path: os.utime(path, (1, 1)),
    "opened to nobody": lambda path: path.chmod(0o600),
    "labelled": lambda path: os.setxattr(path, "user.test", b"x"),
    "linked": lambda path: path.with_name("again").hardlink_to(path),
    "gone": lambda path: path.unlink(),
    "moved": lambda path: path.rename(path.parent.parent / "moved"),
    "replaced": lambda path: (path.rename(path.with_name("old")), path.write_text(file_change.FILLING)),
    "given company": lambda path: path.with_name("new").touch(),
    "moved with its directory": lambda path: path.parent.rename(path.parent.with_name("away")),
}


@pytest.mark.parametrize("name", CHANGES)
def test_every_change_is_seen_and_stays_seen(planted, name):
    witness, told = planted(file_change)
    assert isinstance(witness.look(None), Nothing)
    CHANGES[name](Path(told.told["path"]))
    first = witness.look(None)
    witness.watched[0].settle()
    assert isinstance(first, Seen)
    assert witness.look(None) == first


def test_a_file_written_where_it_was_moved_is_seen_by_its_descriptor(planted, tmp_path):
    witness, told = planted(file_change)
    path = Path(told.told["path"])
    path.rename(tmp_path / "moved")
    (tmp_path / "moved").write_text("x")
    assert "file by descriptor: size, mtime, content" in witness.look(None).how


def test_a_change_in_the_workspace_is_the_twins_and_no_sighting(planted):
    witness, told = planted(file_change)
    found = acted(inside="found again")
    assert not witness.twin(found)
    Path(told.twin["path"]).write_text("twin")
    assert witness.twin(found)
    assert not witness.twin(acted())
    assert isinstance(witness.look(None), Nothing)


def test_the_check_of_a_change_is_no_sighting_and_leaves_no_trace(planted):
    witness, told = planted(file_change, ctime=True)
    assert [witness.check(), witness.check()] == ["", ""]
    assert isinstance(witness.look(None), Nothing)
    assert Path(told.told["path"]).read_text() == file_change.FILLING


def test_a_witness_whose_comparison_is_broken_fails_its_check(planted, monkeypatch):
    witness, _ = planted(file_change)
    monkeypatch.setattr(witness.watched[0], "changes", lambda: "")
    assert witness.check() == "a change of our own was not seen"


def test_a_witness_whose_directory_went_fails_its_check(planted):
    witness, told = planted(file_change, where="denied", object="absent", name=".git")
    Path(told.told["path"]).parent.rmdir()
    assert "cannot change" in witness.check()


APPEARANCES = {
    "file": lambda path, token: path.write_text(token),
    "tree": lambda path, token: (path.mkdir(), (path / "hook").write_text(token)),
    "link": lambda path, token: path.symlink_to(token),
}


@pytest.mark.parametrize("name", APPEARANCES)
def test_an_absent_name_counts_with_the_canary_and_not_as_a_placeholder(planted, name):
    witness, told = planted(file_change, where="denied", object="absent", name=".git")
    path = Path(told.told["path"])
    assert told.protected == (path,)
    APPEARANCES[name](path, "") if name != "link" else path.touch()
    assert isinstance(witness.look(None), Nothing)
    witness.ground.remove(path)
    APPEARANCES[name](path, witness.ground.token)
    assert isinstance(witness.look(None), Seen)


def test_a_name_that_cannot_be_looked_at_makes_blind_and_not_held(planted, monkeypatch):
    witness, _ = planted(file_change, where="denied", object="absent", name=".git")

    def refuse(path, token):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(file_change, "holds", refuse)
    assert isinstance(witness.look(None), Nothing)
    assert "Permission denied" in witness.check()


def test_a_file_that_can_no_longer_be_read_has_changed(planted, monkeypatch):
    witness, told = planted(file_change)
    real = os.lstat

    def refuse(path):
        if str(path) == told.told["path"]:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "lstat", refuse)
    assert "it can no longer be read" in witness.look(None).how


@pytest.mark.parametrize("kind", ["content", "name", "link", "attribute"])
def test_a_read_counts_only_when_the_canary_came_back(planted, kind):
    witness, told = planted(file_read, **{"as": kind})
    token, twin = witness.ground.token, witness.ground.twin_token
    assert token not in str(told)
    assert twin not in str(told)
    assert isinstance(witness.look(acted(trace=twin)), Nothing)
    assert not witness.twin(acted(trace=token))
    assert witness.twin(acted(trace=twin))
    assert witness.check() == ""
    assert isinstance(witness.look(acted(trace=f"..{token}..")), Seen)
    assert isinstance(witness.look(None), Seen)


def test_a_moved_canary_is_still_there_and_an_overwritten_one_is_not(planted):
    witness, told = planted(file_read, where="denied")
    path = Path(told.told["path"])
    path.parent.rename(path.parent.with_name("away"))
    assert witness.check() == ""
    (path.parent.with_name("away") / path.name).write_text("overwritten")
    assert "no longer" in witness.check()


def test_a_sibling_has_the_workspaces_name_at_the_beginning_of_its_own(planted):
    witness, told = planted(file_read, where="sibling", spelled="dotdot")
    workspace = str(witness.ground.workspace)
    assert told.told["path"].startswith(f"{workspace}/../ws-evil/")
    assert told.twin["path"].startswith(f"{workspace}/../ws/")
    assert Path(told.told["path"]).read_text() == witness.ground.token


def test_a_second_name_is_the_same_file_or_cannot_be_planted(planted, monkeypatch):
    _, told = planted(file_change, alias="hardlink")
    assert Path(told.told["alias"]).samefile(told.told["path"])
    _, told = planted(file_change, alias="symlink")
    assert Path(told.told["link"]).samefile(told.told["path"])
    with pytest.raises(Unplantable):
        planted(file_read, where="denied", alias="firmlink")


def test_nothing_planted_outside_stays(ground):
    for plant in ({}, {"where": "sibling"}, {"where": "top", "object": "absent"}):
        witness = file_change.Witness(ground(**plant))
        told = witness.plant().told
        witness.check()
        witness.close()
        assert not Path(told["path"]).exists()
        assert not Path(told["folder"], "File").exists()


def test_a_lock_is_seen_when_the_attempt_says_so_and_the_attempt_may_go_on(planted):
    witness, told = planted(file_lock)
    with Path(told.told["path"]).open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert isinstance(witness.look(None), Nothing)
        Path(told.told["ready"]).touch()
        assert isinstance(witness.look(None), Seen)
        assert Path(told.told["met"]).exists()
    assert isinstance(witness.look(None), Seen)


def test_a_lock_on_another_file_is_not_seen(planted):
    witness, told = planted(file_lock)
    with Path(told.twin["path"]).open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        Path(told.told["ready"]).touch()
        assert isinstance(witness.look(None), Nothing)
    assert witness.check() == ""
    assert not witness.twin(acted(trace="the lock does not hold"))
    assert witness.twin(acted(inside="the file is locked here"))


@pytest.mark.parametrize("ask", ["hidden", "protected"])
def test_what_appears_behind_the_link_is_seen(planted, ask):
    witness, told = planted(launch_trap, ask=ask, args={"root": "", "rest": "deep"})
    link = Path(told.told["link"])
    assert getattr(told, ask) == (link / "deep",)
    assert witness.check() == ""
    assert isinstance(witness.look(None), Nothing)
    (link / "deep").mkdir()
    assert isinstance(witness.look(None), Seen)


def test_the_benign_launch_meets_a_directory_in_the_links_place(planted):
    _, told = planted(launch_trap, arm="benign", ask="hidden", args={"root": "", "rest": "deep"})
    link = Path(told.told["link"])
    assert link.is_dir()
    assert not link.is_symlink()
