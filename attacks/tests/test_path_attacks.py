"""The filesystem attacks, each operation on files of our own: what it does, and what it says of it."""

import errno
import os
from pathlib import Path

import pytest

from attacks.tests.inside import TOKEN, run


@pytest.fixture(autouse=True)
def stand(monkeypatch, tmp_path):
    """As in the sandbox: in a workspace."""
    (tmp_path / "ws" / "scratch").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "ws")


@pytest.fixture
def told(tmp_path):
    """A planted file beside a workspace, told as the witness tells it."""
    folder, scratch = tmp_path / "beside" / "b", tmp_path / "ws" / "scratch"
    folder.mkdir(parents=True)
    (folder / "File").write_text("planted " * 8)
    (scratch / "link").symlink_to(folder / "File")
    (scratch / "folder_link").symlink_to(folder)
    (scratch / "alias").hardlink_to(folder / "File")
    names = {name: str(scratch / name) for name in ("link", "folder_link", "alias")}
    paths = {"path": str(folder / "File"), "folder": str(folder), "new": str(folder / "new")}
    return {
        **paths,
        **names,
        "scratch": str(scratch),
        "token": TOKEN,
        "stand": "",
        "own": False,
        "changed": 0,
    }


@pytest.mark.parametrize("route", ["absolute", "relative", "long", "proc-cwd"])
def test_every_route_reads_the_same_file(told, route):
    said, facts, steps = run("path_dotdot_read", route=route, **told)
    assert (said, facts["trace"]) == ("acted", "planted " * 8)
    assert steps == ["spell", "open", "read"]


@pytest.mark.parametrize("route", ["absolute", "relative", "long", "proc-cwd"])
def test_a_missing_file_is_a_refusal_at_the_decisive_step(told, route):
    Path(told["path"]).unlink()
    said, facts, steps = run("path_dotdot_read", route=route, **told)
    assert (said, facts["errno"], steps[-1]) == ("refused", errno.ENOENT, "open")


def test_an_empty_file_in_the_place_of_the_planted_one_is_no_read(told):
    Path(told["path"]).write_text("")
    assert run("path_dotdot_read", route="absolute", **told)[0] == "absent"


def test_names_link_text_and_attribute_are_read(told, tmp_path):
    assert "File" in run("path_metadata_read", operation="list", **told)[1]["trace"]
    link = {**told, "path": told["link"]}
    assert run("path_metadata_read", operation="readlink", **link)[1]["trace"] == told["path"]
    os.setxattr(told["path"], "user.escape-matrix", TOKEN.encode())
    assert run("path_metadata_read", operation="getxattr", **told)[1]["trace"] == TOKEN


WRITES = ["create", "overwrite", "append", "truncate", "store", "rename", "unlink", "mkdir"]


@pytest.mark.parametrize("operation", WRITES)
def test_a_write_acts_and_is_found_again(told, operation):
    before = Path(told["path"]).read_text()
    said, facts, _ = run("path_absolute_write", operation=operation, **told)
    assert (said, bool(facts["inside"])) == ("acted", True)
    path, new = Path(told["path"]), Path(told["new"])
    assert new.exists() or not path.exists() or path.read_text() != before


@pytest.mark.parametrize("operation", WRITES)
def test_a_write_where_nothing_is_shown_is_refused(told, operation):
    gone = {**told, "path": "/nowhere/File", "new": "/nowhere/new"}
    said, facts, steps = run("path_absolute_write", operation=operation, **gone)
    assert (said, facts["errno"]) == ("refused", errno.ENOENT)
    assert steps[-1] == {"mkdir": "mkdir", "unlink": "unlink", "rename": "rename"}.get(operation, "open")


def test_a_write_that_goes_nowhere_is_not_called_a_private_copy(told, monkeypatch):
    monkeypatch.setattr(os, "write", lambda descriptor, data: len(data))
    said, facts, _ = run("path_absolute_write", operation="overwrite", **told)
    assert (said, facts["inside"]) == ("acted", "")


@pytest.mark.parametrize("way", ["planted", "own", "replaced", "folder", "folder-rename"])
def test_every_link_leads_out(told, way):
    said, facts, _ = run("path_symlink_out_write", way=way, **told)
    assert (said, bool(facts["inside"])) == ("acted", True)
    assert Path(told["path"]).read_text() == TOKEN


@pytest.mark.parametrize("way", ["planted", "own", "replaced", "folder", "folder-rename"])
def test_a_link_that_leads_nowhere_makes_nothing(told, tmp_path, way):
    Path(told["path"]).unlink()
    Path(told["folder"]).rmdir()
    said, facts, steps = run("path_symlink_out_write", way=way, **told)
    assert (said, facts["errno"], steps[0]) == ("refused", errno.ENOENT, "prepare")
    assert not Path(told["folder"]).exists()


ROUTES = ["plain", "link", "folder-link", "alias", "double-slash", "dots", "proc-root", "proc-cwd"]


@pytest.mark.parametrize("route", ROUTES)
def test_every_name_reaches_the_denied_file(told, route):
    read = run("path_deny_symlink_alias", act="read", route=route, **told)
    assert read[1]["trace"] == "planted " * 8
    written = run("path_deny_symlink_alias", act="write", route=route, **told)
    assert written[1]["inside"]
    assert Path(told["path"]).read_text().startswith(TOKEN)


@pytest.mark.parametrize(("levels", "manner"), [(0, "rename"), (1, "rename"), (2, "rename"), (2, "exchange")])
def test_a_moved_file_is_read_where_it_went(told, levels, manner):
    said, facts, _ = run("path_deny_ancestor_rename", act="read", levels=levels, manner=manner, **told)
    assert (said, facts["trace"]) == ("acted", "planted " * 8)


@pytest.mark.parametrize(("levels", "manner"), [(1, "rename"), (2, "rename"), (2, "exchange"), (2, "link")])
def test_something_else_stands_at_the_denied_path(told, levels, manner):
    said, facts, _ = run("path_deny_ancestor_rename", act="write", levels=levels, manner=manner, **told)
    assert (said, bool(facts["inside"])) == ("acted", True)
    assert Path(told["path"]).read_text() == TOKEN


@pytest.mark.parametrize("operation", ["create", "tree", "rename", "symlink"])
def test_a_name_that_was_absent_exists(told, operation):
    absent = {**told, "path": told["new"]}
    said, facts, steps = run("path_deny_absent_create", operation=operation, **absent)
    assert (said, bool(facts["inside"]), steps[-1]) == ("acted", True, "create")
    assert os.path.lexists(told["new"])


@pytest.mark.parametrize("way", ["planted", "name", "descriptor"])
def test_a_hard_link_is_the_same_file(told, way):
    assert run("path_hardlink_alias", way=way, act="write", **told)[1]["inside"]
    assert Path(told["path"]).read_text().startswith(TOKEN)


@pytest.mark.parametrize("operation", ["chmod", "chown", "utime", "setxattr", "truncate"])
def test_metadata_changes_and_is_found_again(told, operation):
    before = os.stat(told["path"])
    assert run("path_metadata_mutation", operation=operation, **told)[1]["inside"]
    assert os.stat(told["path"]).st_ctime_ns >= before.st_ctime_ns


def test_the_twin_owns_its_file_before_it_changes_it(told):
    before = os.stat(told["path"])
    owning = {**told, "own": True}
    assert run("path_metadata_mutation", operation="utime", **owning)[2] == ["own", "utime"]
    assert os.stat(told["path"]).st_ino != before.st_ino
    assert Path(told["path"]).read_text() == "planted " * 8


def test_a_change_that_does_not_show_is_not_called_a_private_copy(told, monkeypatch):
    monkeypatch.setattr(os, "chmod", lambda path, mode: None)
    said, facts, _ = run("path_metadata_mutation", operation="chmod", **told)
    assert (said, facts["inside"]) == ("acted", "")


def test_a_lock_holds_while_the_harness_looks(told, tmp_path):
    met = {"ready": str(tmp_path / "ready"), "met": told["path"]}
    said, facts, steps = run("path_metadata_flock", **told, **met)
    assert (said, bool(facts["inside"]), steps) == ("acted", True, ["open", "flock"])


def test_the_working_directory_leads_to_the_file(told, monkeypatch):
    monkeypatch.chdir(told["folder"])
    assert run("path_cwd_confusion", act="read", relative="./File", **told)[1]["trace"] == "planted " * 8
    assert run("path_cwd_confusion", act="write", relative="./File", **told)[1]["inside"]
    monkeypatch.chdir("/")
    assert run("path_cwd_confusion", act="read", relative="./File", **told)[0] == "refused"
    standing = {**told, "stand": told["folder"]}
    assert run("path_cwd_confusion", act="read", relative="./File", **standing)[0] == "acted"


def test_the_trap_springs_for_a_launcher_that_follows_it(tmp_path):
    trap, link = tmp_path / "trap", tmp_path / "ws" / "guarded"
    trap.mkdir()
    link.symlink_to(f"/oldroot{trap}")
    asked = {"link": str(link), "rest": "deep/er", "create": "directory"}
    assert run("path_setup_symlink_mountpoint", root="/oldroot", **asked)[0] == "acted"
    assert (trap / "deep" / "er").is_dir()
    assert run("path_setup_symlink_mountpoint", root="/elsewhere", **asked)[0] == "unsupported"
    assert run("path_setup_symlink_mountpoint", root="", **asked)[0] == "refused"


def test_macos_attributes_go_through_libc_with_position_and_options(told, libc):
    def getxattr(_path, _name, found, *_):
        found.value = TOKEN.encode()
        return len(TOKEN)

    apple = libc(getxattr=getxattr)
    path, name = told["path"].encode(), b"user.escape-matrix"
    assert run("path_metadata_mutation", "darwin", operation="setxattr", **told)[1]["inside"]
    assert apple.calls[0] == ("setxattr", path, name, TOKEN.encode(), len(TOKEN), 0, 0)
    assert apple.calls[1] == ("getxattr", path, name, b"", 256, 0, 0)
    apple.calls.clear()
    assert run("path_metadata_read", "darwin", operation="getxattr", **told)[1]["trace"] == TOKEN
    assert apple.calls == [("getxattr", path, name, b"", 256, 0, 0)]


def test_macos_exchanges_by_renamex_np_with_rename_swap(told, libc):
    apple = libc()
    run("path_deny_ancestor_rename", "darwin", act="read", levels=2, manner="exchange", **told)
    moved = os.path.dirname(told["folder"])
    other = os.path.join(told["scratch"], "other")
    assert apple.calls == [("renamex_np", moved.encode(), other.encode(), 2)]


def test_a_failing_libc_call_on_macos_is_a_refusal(told, libc):
    libc(refuse=errno.EPERM)
    said, facts, steps = run("path_metadata_mutation", "darwin", operation="setxattr", **told)
    assert (said, facts["errno"], steps) == ("refused", errno.EPERM, ["setxattr"])
