"""Every installed runner does what a runner must, as root and as an ordinary account; doubles do not."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from runners.contract import Found, Identity
from runners.registry import BUILT_IN, runner_class
from runners.tests.bench import Bench, bench, identities
from runners.tests.conformance import (
    CHECKS,
    Check,
    ends,
    environment,
    masks,
    much,
    reaches,
    shown,
    speaks,
    terminal,
    together,
    workspace,
    wrapper,
)
from runners.unconfined import Runner as Unconfined

FIREJAIL = {
    *(
        "DBUS_SESSION_BUS_ADDRESS",
        "DBUS_SYSTEM_BUS_ADDRESS",
        "FIREJAIL_QUIET",
        "KDE_FORK_SLAVES",
        "PROMPT_COMMAND",
    ),
    *("QML_DISABLE_DISK_CACHE", "QT_X11_NO_MITSHM", "SHELL", "container"),
    *("PWD", "SHLVL", "_", "OLDPWD"),  # of the login shell that it starts the command with
}
ADDS = {"bubblewrap": {"PWD"}, "tier1": {"PWD"}, "firejail": FIREJAIL, "docker": {"HOME", "HOSTNAME"}}
"""What a strict sandbox puts into the environment by itself."""


def configured(mode: str) -> list[str]:
    """The runners that have this configuration."""
    found: list[str] = []
    for name in BUILT_IN:
        kind = runner_class(name)
        assert kind is not None
        if mode in kind.OPTIONS.get("properties", {}).get("mode", {}).get("enum", ()):
            found.append(name)
    return found


OPEN = {**dict.fromkeys(configured("open"), "open"), "tier1": "auto"}
"""Runners → their configuration that closes nothing."""


@contextlib.contextmanager
def benched(name: str, options: dict[str, object], identity: Identity) -> Iterator[Bench]:
    kind = runner_class(name)
    assert kind is not None
    runner = kind(options)
    found = runner.find(identity)
    if not isinstance(found, Found):
        pytest.skip(found.what)
    with bench(runner, identity) as made:
        yield made


@pytest.mark.real
@pytest.mark.parametrize("identity", identities(), ids=lambda each: "root" if each.root else "user")
@pytest.mark.parametrize("name", configured("strict"))
def test_a_strict_sandbox_passes_every_check(name: str, identity: Identity) -> None:
    with benched(name, {"mode": "strict"}, identity) as made:
        adds = frozenset(ADDS.get(name, ()))
        assert {check.__name__: check(made, adds) for check in CHECKS} == dict.fromkeys(
            (check.__name__ for check in CHECKS), ""
        )


@pytest.mark.real
@pytest.mark.parametrize("identity", identities(), ids=lambda each: "root" if each.root else "user")
@pytest.mark.parametrize("name", configured("usual"))
def test_the_usual_configuration_carries_what_it_says(
    name: str, identity: Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runners.tests.conformance.PATIENCE", 0.2)  # it ties nothing to the launcher
    with benched(name, {"mode": "usual"}, identity) as made:
        for check in (speaks, workspace, terminal, wrapper, together):
            assert check(made, frozenset()) == "", check.__name__


@pytest.mark.real
@pytest.mark.parametrize("identity", identities(), ids=lambda each: "root" if each.root else "user")
@pytest.mark.parametrize("name", OPEN)
def test_wide_open_lets_everything_in(name: str, identity: Identity) -> None:
    closed_by_design = {"docker": reaches}  # its daemon starts the command, and has no descriptor of ours
    with benched(name, {"mode": OPEN[name]}, identity) as made:
        for check in (speaks, workspace, terminal, wrapper, reaches):
            assert closed_by_design.get(name) is check or check(made, frozenset()) == "", check.__name__
        assert "was" in masks(made, frozenset())


def test_no_sandbox_passes_all_but_what_a_sandbox_is_for() -> None:
    with bench(Unconfined({}), Identity.current()) as made:
        complaints = {check: check(made, frozenset({"CALLER"})) for check in CHECKS}
        assert reaches(made, frozenset()) == ""
    assert {check for check, complaint in complaints.items() if complaint} == {masks, shown}


DOUBLES: dict[str, tuple[str, list[Check]]] = {
    "exits 127": (
        "exit 127",
        [speaks, environment, much, workspace, ends, terminal, wrapper, reaches, together, masks, shown],
    ),
    "hangs": ("exec sleep 20", [speaks]),
    "closes standard input": ('exec 0<&-; exec "$@"', [terminal]),
    "changes the exit code": ('"$@"; exit 0', [speaks]),
    "adds a variable": ('MORE=1 exec "$@"', [environment]),
    "loses a variable": ('unset GRANTED; exec "$@"', [environment]),
    "cuts the output short": ('"$@" | head -c 1000', [much]),
    "looks elsewhere": ('exec "${@//ws-1/ws-2}"', [workspace]),
    "leaves the command behind": ('"$@" & wait', [ends]),
    "hides nothing": ('exec "$@"', [masks]),
    "keeps nothing read-only": ('exec "$@"', [shown]),
    "leaves another in its place": ('"$@" & exit', [wrapper]),
    "closes descriptors": ('exec 77<&-; exec "$@"', [reaches]),
    "clears the environment": ('exec env -i GRANTED="$GRANTED" "$@"', [reaches]),
}


@pytest.mark.parametrize("how", DOUBLES)
def test_a_launcher_that_lies_is_caught(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    script, caught = DOUBLES[how]
    monkeypatch.setattr("runners.tests.bench.SECONDS", 1.0)
    monkeypatch.setattr("runners.tests.conformance.PATIENCE", 0.5)
    kind = runner_class("command")
    assert kind is not None
    shell = ["/bin/bash", "-c", script, "bash", "{command}"]
    with bench(kind({"argv": shell, "hide": [], "protect": []}), Identity.current()) as made:
        adds = frozenset({"CALLER", "PWD", "SHLVL", "_", "OLDPWD"})
        assert [check.__name__ for check in caught if not check(made, adds)] == []
