"""The argv template of the command runner: what it fills in, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from runners.command import Runner
from runners.contract import (
    ARGV_CHANNELS,
    Channel,
    Expressible,
    Found,
    Identity,
    Inexpressible,
    Launch,
    Missing,
    Policy,
)

HERE = Path("/var/tmp/ws")
POLICY = Policy(
    workspace=HERE, hidden=(HERE / "h1", HERE / "h2"), protected=(HERE / "p",), environment={"A": "1"}
)


def argv(*template: str, **options: object) -> tuple[str, ...]:
    asked = Launch(
        run=HERE.parent,
        policy=POLICY,
        command=("python", "-c", "x {workspace}"),
        identity=Identity.current(),
        cwd=HERE,
        environment={},
    )
    return Runner({"argv": list(template), **options}).argv(asked)


def test_the_command_is_spliced_anywhere() -> None:
    assert argv("box", "{command}", "--end") == ("box", "python", "-c", "x {workspace}", "--end")


def test_the_workspace_is_filled_in_inside_elements() -> None:
    assert argv("box", "-v={workspace}:{workspace}", "{command}")[1] == f"-v={HERE}:{HERE}"


def test_other_braces_are_left_alone() -> None:
    assert argv("sh", "-c", "${HOME} {} {x}", "{command}")[2] == "${HOME} {} {x}"


def test_hide_protect_and_grant_come_once_for_each() -> None:
    assert argv(
        *("box", "{hide}", "{protect}", "{grant}", "{command}"),
        hide=["--tmpfs", "{path}"],
        protect=["--ro={path}"],
        grant=["--setenv", "{name}", "{value}"],
    )[1:-3] == (
        *("--tmpfs", f"{HERE}/h1", "--tmpfs", f"{HERE}/h2", f"--ro={HERE}/p"),
        *("--setenv", "A", "1"),
    )


def test_what_the_template_has_no_words_for_is_inexpressible() -> None:
    bare = Runner({"argv": ["{command}"]})
    assert isinstance(bare.express(POLICY), Inexpressible)
    assert isinstance(bare.express(Policy(workspace=HERE)), Expressible)
    assert isinstance(Runner({"argv": ["{command}"], "hide": [], "protect": []}).express(POLICY), Expressible)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"argv": ["box"]}, 'no element "{command}"'),
        ({"argv": ["sh", "-c", "run {command}", "{command}"]}, "must stand alone"),
        ({"argv": ["box", "{command}"], "hide": ["--x", "{path}"]}, "options.hide is never used"),
    ],
)
def test_a_template_that_cannot_work_is_refused(options: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says.replace("{", r"\{")):
        Runner(options)


@pytest.mark.parametrize(
    "options",
    [{}, {"argv": []}, {"argv": ["box"]}, {"argv": [1]}, {"argv": ["{command}"], "channels": ["x"]}],
)
def test_the_schema_refuses_it_too(options: dict[str, object]) -> None:
    assert list(Draft202012Validator(Runner.OPTIONS).iter_errors(options))


def test_channels_and_python_are_as_stated() -> None:
    stated = Runner({"argv": ["{command}"], "channels": ["terminal"], "python": "/opt/py"})
    assert stated.channels == {Channel.TERMINAL}
    assert stated.python() == "/opt/py"
    assert Runner({"argv": ["{command}"]}).channels == ARGV_CHANNELS


def test_find_says_what_is_missing() -> None:
    missing = Runner({"argv": ["no-such-sandbox", "{command}"]}).find(Identity.current())
    assert isinstance(missing, Missing)
    assert "no-such-sandbox" in missing.what
    assert isinstance(Runner({"argv": ["{command}"]}).find(Identity.current()), Found)
