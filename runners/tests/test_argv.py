"""The command line of every configuration, against golden files: one argument a line.

A change that is meant is taken over by deleting the file and running the test once; it then fails,
and leaves the new file to be looked at.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runners import docker_settings, nsjail
from runners.contract import Identity, Inexpressible, Launch, Missing, Policy
from runners.local import Local
from runners.registry import runner_class
from runners.system import View
from runners.unshare import SCRIPT

GOLDEN = Path(__file__).parent / "golden"
PROGRAMS = ("bubblewrap", "firejail", "nsjail", "unshare")
MODES = ("strict", "usual", "open")
USER = Identity(name="ann", uid=1000, gid=1000, groups=(1000,), home=Path("/home/ann"))
ROOT = Identity(name="root", uid=0, gid=0, groups=(0,), home=Path("/root"))


@pytest.fixture(autouse=True)
def a_machine_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    view = View(shown=("/usr",), links=(("usr/bin", "/bin"), ("usr/lib", "/lib")))
    top = ("/etc", "/opt", "/proc", "/run", "/tmp", "/usr", "/var")
    for name in PROGRAMS:
        if name != "nsjail":
            monkeypatch.setattr(f"runners.{name}.which", lambda program: f"/usr/bin/{program}")
        if name != "firejail":
            monkeypatch.setattr(f"runners.{name}.view", lambda: view)
    monkeypatch.setattr("runners.firejail.top_level", lambda: top)
    monkeypatch.setattr(nsjail, "_reachable", lambda launch: Path("/opt/nsjail"))


def launch(tmp_path: Path, identity: Identity = USER, **more: Any) -> Launch:
    """A launch with something hidden and something protected, both there and missing."""
    workspace = tmp_path / "ws 1"
    workspace.mkdir()
    (workspace / "secrets").mkdir()
    (workspace / "key").touch()
    (workspace / "rules").touch()
    policy = Policy(
        workspace=workspace,
        hidden=(workspace / "secrets", workspace / "key"),
        protected=(workspace / "rules", workspace / "missing"),
        environment={"PATH": "/usr/bin", "GIVEN": "a b"},
    )
    given = {"run": tmp_path, "policy": policy, "command": ("prog", "an arg"), "identity": identity}
    return Launch(**{**given, "cwd": workspace, "environment": {"CALLER": "1"}, "descriptors": (9,), **more})


def runner(name: str, **options: Any) -> Local:
    kind = runner_class(name)
    assert kind is not None
    made = kind(options)
    assert isinstance(made, Local)
    return made


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_command_line_is_the_golden_one(name: str, mode: str, tmp_path: Path) -> None:
    for identity in (USER, ROOT):
        folder = tmp_path / identity.name
        folder.mkdir()
        given = runner(name, mode=mode).argv(launch(folder, identity))
        compare(f"{name}-{mode}-{identity.name}", given, folder)


def test_what_is_shown_stands_before_the_workspace_and_is_read_only(tmp_path: Path) -> None:
    given = launch(tmp_path)
    given = replace(given, policy=replace(given.policy, shown=(Path("/programs"),)))
    workspace = str(given.policy.workspace)
    for name, words in {
        "bubblewrap": ("--ro-bind", "/programs", "/programs"),
        "nsjail": ("--bindmount_ro", "/programs"),
        "firejail": ("--whitelist=/programs",),
        "unshare": ("show", "/programs"),
    }.items():
        argv = runner(name, mode="strict").argv(given)
        found = [at for at in range(len(argv)) if argv[at : at + len(words)] == words]
        assert found, name
        if name in {"bubblewrap", "nsjail"}:  # a workspace below it must stay writable
            assert found[0] < argv.index(workspace), name
    assert "--read-only=/programs" in runner("firejail", mode="strict").argv(given)
    asked = [each.value for each in docker_settings.settings("strict", given)]
    assert "type=bind,source=/programs,target=/programs,readonly" in asked


def test_firejail_does_not_blacklist_what_is_above_a_shown_folder(tmp_path: Path) -> None:
    given = launch(tmp_path)
    for path, top in (("/opt/box", "--blacklist=/opt"), ("/var/box", "--read-only=/var")):
        more = replace(given, policy=replace(given.policy, shown=(Path(path),)))
        assert top in runner("firejail", mode="strict").argv(given)
        assert (top in runner("firejail", mode="strict").argv(more)) is (top != "--blacklist=/opt")


@pytest.mark.parametrize("mode", MODES)
def test_docker_is_asked_the_same_in_both_languages(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docker_settings, "_held", lambda: iter(()))
    asked = docker_settings.settings(mode, launch(tmp_path, ROOT))
    compare(f"docker-{mode}-flags", tuple(docker_settings.flags(asked)), tmp_path)
    said = docker_settings.keywords(asked)
    compare(
        f"docker-{mode}-keywords", tuple(f"{key} = {value}" for key, value in sorted(said.items())), tmp_path
    )


def compare(name: str, argv: tuple[str, ...], folder: Path) -> None:
    text = "".join(f"{argument}\n" for argument in argv).replace(str(folder), "RUN")
    text = text.replace(SCRIPT.read_text(), "THE SCRIPT")
    golden = GOLDEN / f"{name}.txt"
    if not golden.exists():
        golden.write_text(text)
        pytest.fail(f"{golden} is new: look at it")
    assert text == golden.read_text(), name


def test_without_takes_a_flag_away_with_its_values(tmp_path: Path) -> None:
    argv = runner("bubblewrap", mode="strict", without=["--cap-drop", "--new-session"]).argv(launch(tmp_path))
    assert "--cap-drop" not in argv
    assert "ALL" not in argv
    assert "--new-session" not in argv
    assert "--die-with-parent" in argv


def test_without_takes_a_flag_that_has_its_value_behind_an_equals_sign(tmp_path: Path) -> None:
    argv = runner("firejail", mode="strict", without=["--net"]).argv(launch(tmp_path))
    assert not [argument for argument in argv if argument.startswith("--net")]


def test_flags_stand_before_the_command(tmp_path: Path) -> None:
    argv = runner("unshare", mode="usual", flags=["--time"]).argv(launch(tmp_path))
    assert argv.index("--time") < argv.index("--") < argv.index("prog")


def test_docker_without(tmp_path: Path) -> None:
    asked = docker_settings.settings("strict", launch(tmp_path), ["--cap-drop"])
    assert "cap_drop" not in docker_settings.keywords(asked)


def test_a_comma_in_a_path_stays_one_for_docker(tmp_path: Path) -> None:
    policy = Policy(workspace=tmp_path / "a,b")
    asked = docker_settings.settings("usual", launch(tmp_path, policy=policy))
    assert f'type=bind,"source={tmp_path}/a,b","target={tmp_path}/a,b"' in tuple(docker_settings.flags(asked))


@pytest.mark.parametrize("name", ["firejail", "unshare"])
def test_what_is_missing_cannot_be_asked_of_everybody(name: str, tmp_path: Path) -> None:
    answer = runner(name, mode="strict").express(launch(tmp_path).policy)
    assert isinstance(answer, Inexpressible)
    assert "missing" in answer.why


@pytest.mark.parametrize("name", ["firejail", "docker"])
def test_what_needs_real_root_is_missing_in_a_user_namespace(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There an ordinary account reads as root, and is none."""
    monkeypatch.setattr(f"runners.{name}.in_user_namespace", lambda: True)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    root = Identity(name="root", uid=0, gid=0, groups=(0,), home=Path("/root"))
    found = runner(name, mode="strict").find(root)
    assert isinstance(found, Missing)
    assert "user namespace" in found.what


def test_a_colon_cannot_be_said_to_nsjail(tmp_path: Path) -> None:
    answer = runner("nsjail", mode="strict").express(Policy(workspace=tmp_path / "a:b"))
    assert isinstance(answer, Inexpressible)


def test_the_caller_s_environment_is_the_launcher_s_own(tmp_path: Path) -> None:
    asked = launch(tmp_path)
    for name in PROGRAMS:
        assert runner(name, mode="strict").environment(asked) == {"CALLER": "1"}
    assert runner("bubblewrap", mode="usual").environment(asked)["GIVEN"] == "a b"
