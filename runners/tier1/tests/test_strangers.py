"""Names that lead out of the workspace without being links: what is covered, and what stays as it is."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from runners.tier1.tests.launched import guards, strangers

EMPTY = "/run/empty"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "ws"
    made.mkdir()
    monkeypatch.chdir(made)
    return made


def covered(workspace: Path, protected=(), hidden=(), *, links=True) -> dict[str, str]:
    """name → "covered" or "frozen"."""
    words = strangers.arguments(
        str(workspace),
        [str(workspace / each) for each in protected],
        [str(workspace / each) for each in hidden],
        EMPTY,
        links=links,
    )
    return {
        os.path.relpath(target, workspace): "covered" if source == EMPTY else "frozen"
        for _, source, target in zip(*[iter(words)] * 3, strict=True)
    }


def test_a_hard_link_to_a_file_outside_is_covered(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("secret")
    (workspace / "deep").mkdir()
    os.link(tmp_path / "outside", workspace / "deep/alias")
    assert covered(workspace) == {"deep/alias": "covered"}
    assert covered(workspace, links=False) == {}


def test_one_with_all_its_names_in_the_workspace_is_the_workspace_s_own(workspace: Path) -> None:
    (workspace / "one").write_text("own")
    os.link(workspace / "one", workspace / "two")
    (workspace / "plain").touch()
    (workspace / "link").symlink_to("one")
    assert covered(workspace) == {}


@pytest.mark.parametrize("what", ["key", "folder"])
def test_a_second_name_of_what_is_hidden_is_covered(what: str, workspace: Path) -> None:
    (workspace / "folder").mkdir()
    file = workspace / ("key" if what == "key" else "folder/key")
    file.write_text("secret")
    os.link(file, workspace / "alias")
    assert covered(workspace, hidden=[what]) == {"alias": "covered"}
    assert covered(workspace, hidden=[what], links=False) == {"alias": "covered"}


def test_a_second_name_of_what_is_protected_cannot_be_written_either(workspace: Path) -> None:
    (workspace / "rules").touch()
    os.link(workspace / "rules", workspace / "alias")
    assert covered(workspace, protected=["rules"]) == {"alias": "frozen"}


def test_what_is_protected_stays_readable_although_it_has_a_name_outside(
    workspace: Path, tmp_path: Path
) -> None:
    (workspace / "rules").touch()
    os.link(workspace / "rules", tmp_path / "outside")
    assert covered(workspace, protected=["rules"]) == {}


def test_sockets_and_pipes_are_covered_and_those_of_a_hidden_directory_with_it(workspace: Path) -> None:
    (workspace / "h").mkdir()
    os.mkfifo(workspace / "pipe")
    os.mkfifo(workspace / "h/pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
    assert covered(workspace, hidden=["h"]) == {"pipe": "covered", "socket": "covered"}


def test_those_of_what_is_shown_are_covered_and_its_hard_links_stay(workspace: Path, tmp_path: Path) -> None:
    (shown := tmp_path / "shown").mkdir()
    os.mkfifo(shown / "pipe")
    (shown / "one").touch()
    os.link(shown / "one", workspace / "two")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(shown / "socket"))
    paths = [str(shown), str(shown / "one"), str(tmp_path / "missing")]
    assert strangers.beside(paths, EMPTY) == [
        *("--ro-bind", EMPTY, str(shown / "pipe")),
        *("--ro-bind", EMPTY, str(shown / "socket")),
    ]
    assert strangers.beside([str(shown / "socket")], EMPTY) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="every directory is open to root")
def test_a_directory_that_cannot_be_looked_through_is_declined(workspace: Path) -> None:
    (workspace / "closed").mkdir(mode=0o300)
    with pytest.raises(guards.Declined, match="make it readable"):
        covered(workspace)


def test_a_directory_that_is_closed_to_us_alone_is_declined(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(path: str) -> object:
        raise PermissionError(path)

    monkeypatch.setattr(os, "scandir", closed)
    with pytest.raises(guards.Declined, match="make it readable"):
        covered(workspace)


def test_too_many_are_declined_with_what_to_do(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strangers, "MOST", 1)
    for name in ("one", "two"):
        (tmp_path / name).touch()
        os.link(tmp_path / name, workspace / name)
    for name in ("pipe", "other"):
        os.mkfifo(tmp_path / name)
    with pytest.raises(guards.Declined, match="2 sockets, pipes"):
        strangers.beside([str(tmp_path)], EMPTY)
    with pytest.raises(guards.Declined, match=r"2 names .* the first is .*ws/one: .*\(--keep-links\)"):
        covered(workspace)
