"""Hidden and protected paths: what is declined, what is created, and in which order mounts are made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runners.tier1.tests.launched import guards

EMPTY = "/run/empty"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path / "ws"
    made.mkdir()
    return made


def mounts(workspace: Path, protected=(), hidden=(), *, pinned=True) -> list[tuple[str, ...]]:
    """One mount a tuple, its paths as the workspace has them."""
    words, _ = guards.arguments(
        str(workspace),
        [str(workspace / each) for each in protected],
        [str(workspace / each) for each in hidden],
        EMPTY,
        pinned=pinned,
    )
    found: list[tuple[str, ...]] = []
    for word in words:
        if word.startswith("--"):
            found.append((word,))
        else:
            found[-1] += (os.path.relpath(word, workspace) if word != EMPTY else word,)
    return found


def test_every_directory_on_the_way_becomes_a_mount_the_upper_ones_first(workspace: Path) -> None:
    (workspace / "a/b").mkdir(parents=True)
    (workspace / "a/b/rules").touch()
    assert mounts(workspace, protected=["a/b/rules"]) == [
        ("--bind", "a", "a"),
        ("--bind", "a/b", "a/b"),
        ("--ro-bind", "a/b/rules", "a/b/rules"),
    ]


def test_what_lies_in_a_protected_directory_opens_nothing_of_it(workspace: Path) -> None:
    (workspace / "p/q/r").mkdir(parents=True)
    (workspace / "p/q/r/key").touch()
    assert mounts(workspace, protected=["p", "p/q"], hidden=["p/q/r/key"]) == [
        ("--ro-bind", "p", "p"),
        ("--ro-bind", EMPTY, "p/q/r/key"),
    ]


def test_what_lies_in_a_hidden_directory_is_hidden_with_it(workspace: Path) -> None:
    (workspace / "h/deep").mkdir(parents=True)
    assert mounts(workspace, protected=["h/rules"], hidden=["h/deep", "h"]) == [
        ("--tmpfs", "h"),
        ("--remount-ro", "h"),
    ]


@pytest.mark.parametrize("link", ["a", "a/b", "a/b/file"])
@pytest.mark.parametrize("which", ["protected", "hidden"])
def test_a_link_on_the_way_is_declined_and_nothing_is_made(
    which: str, link: str, workspace: Path, tmp_path: Path
) -> None:
    trap = tmp_path / "trap"
    trap.mkdir()
    (workspace / link).parent.mkdir(parents=True, exist_ok=True)
    (workspace / link).symlink_to(trap / "new" if link == "a/b/file" else trap)
    with pytest.raises(guards.Declined, match="is a link"):
        mounts(workspace, **{which: ["a/b/file"]})
    assert [*trap.iterdir()] == []


def test_a_launcher_that_follows_links_would_have_made_it(workspace: Path, tmp_path: Path) -> None:
    """The double: what `secure` is for, done by path."""
    trap = tmp_path / "trap"
    trap.mkdir()
    (workspace / "a").symlink_to(trap)
    (workspace / "a/b").mkdir(parents=True)
    assert [*trap.iterdir()] != []


def test_what_is_missing_is_made_as_its_cover_needs_it(workspace: Path) -> None:
    assert mounts(workspace, protected=["a/rules"], hidden=["b/key"], pinned=False) == [
        ("--ro-bind", "a/rules", "a/rules"),
        ("--tmpfs", "b/key"),
        ("--remount-ro", "b/key"),
    ]
    assert (workspace / "a/rules").read_bytes() == b""
    assert [*(workspace / "b/key").iterdir()] == []


@pytest.mark.parametrize("outside", ["..", "../other", ".", "../ws-evil/x"])
def test_what_is_not_below_the_workspace_is_declined(outside: str, workspace: Path) -> None:
    with pytest.raises(guards.Declined, match="not below the workspace"):
        guards.arguments(str(workspace), [os.path.normpath(workspace / outside)], [], EMPTY, pinned=True)


def test_a_file_where_a_directory_should_be_is_declined(workspace: Path) -> None:
    (workspace / "file").touch()
    with pytest.raises(guards.Declined, match="cannot be guarded"):
        mounts(workspace, hidden=["file/below"])
