"""What of ours lies in a workspace: modules, their places, programs, links to them."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from runners.contract import Policy
from runners.tier1.ours import exposed


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path / "ws"
    made.mkdir()
    return made


def found(workspace: Path, *programs: str, **more: tuple[Path, ...]) -> Path | None:
    return exposed(Policy(workspace=workspace, environment={}, **more), *programs)


def test_nothing_of_ours_is_in_an_ordinary_workspace(workspace: Path) -> None:
    assert found(workspace, "/usr/bin/bwrap") is None


def test_the_directory_python_was_started_in(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    assert found(workspace) == workspace


@pytest.mark.parametrize("guard", ["protected", "hidden"])
def test_a_place_of_modules_unless_the_command_cannot_write_there(
    guard: str, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(workspace / ".venv/lib")])
    assert found(workspace) == workspace / ".venv/lib"
    assert found(workspace, **{guard: (workspace / ".venv",)}) is None


def test_a_module_below_a_place_that_is_outside(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "planted", SimpleNamespace(__file__=str(workspace / "planted.py")))
    assert found(workspace) == workspace / "planted.py"


def test_a_program_and_a_link_to_it_and_from_it(workspace: Path, tmp_path: Path) -> None:
    (workspace / "bwrap").symlink_to("/usr/bin/env")
    (tmp_path / "bwrap").symlink_to(workspace / "real")
    assert found(workspace, str(workspace / "bwrap")) == workspace / "bwrap"
    assert found(workspace, str(tmp_path / "bwrap")) == workspace / "real"
