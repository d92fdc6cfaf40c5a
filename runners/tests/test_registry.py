"""Runners by name: our own, other packages', and none."""

from __future__ import annotations

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from runners import registry, unconfined
from runners.contract import Identity, Missing
from runners.local import find, reaches

COLUMNS = tomllib.loads((Path(registry.__file__).parent / "backends.toml").read_text())


@pytest.mark.parametrize("name", registry.BUILT_IN)
def test_every_built_in_runner_has_options_that_are_a_schema(name: str) -> None:
    kind = registry.runner_class(name)
    assert kind is not None
    Draft202012Validator.check_schema(kind.OPTIONS)


@pytest.mark.parametrize("column", COLUMNS)
def test_every_column_is_one_that_its_runner_takes(column: str) -> None:
    table = COLUMNS[column]
    kind = registry.runner_class(table["runner"])
    assert kind is not None
    options = table.get("options", {})
    assert list(Draft202012Validator(kind.OPTIONS).iter_errors(options)) == []
    kind(options)


@pytest.mark.parametrize("name", registry.BUILT_IN)
def test_every_configuration_of_a_runner_has_a_column_and_the_one_that_closes_nothing_is_wide_open(
    name: str,
) -> None:
    kind = registry.runner_class(name)
    assert kind is not None
    modes = kind.OPTIONS.get("properties", {}).get("mode", {}).get("enum", ())
    columns = [table for table in COLUMNS.values() if table["runner"] == name] if modes else []
    assert {table["options"]["mode"] for table in columns} == {*modes}
    closes_nothing = {"open", "auto"}
    for table in columns:
        assert table.get("wide_open", False) == (table["options"]["mode"] in closes_nothing)


def test_every_sandbox_has_a_configuration_that_closes_nothing() -> None:
    """A proxy confines nothing: its columns are for the rows that go through it alone."""
    confining = {table["runner"] for table in COLUMNS.values() if "only" not in table} - {"command"}
    assert confining == {table["runner"] for table in COLUMNS.values() if table.get("wide_open", False)}


def test_a_name_that_nobody_has_gives_nothing() -> None:
    assert registry.runner_class("no-such-runner") is None
    assert registry.runner_class("contract") is None


def test_other_packages_bring_runners_but_do_not_replace_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint(name=name, value="runners.unconfined:Runner", group=registry.GROUP)
        for name in ("theirs", "docker")
    ]

    def entry_points(group: str, name: str = "") -> list[EntryPoint]:
        return [point for point in points if group == registry.GROUP and name in {"", point.name}]

    monkeypatch.setattr(registry, "entry_points", entry_points)
    assert registry.runner_class("theirs") is unconfined.Runner
    assert registry.runner_class("docker") is not unconfined.Runner
    assert registry.names() == (*registry.BUILT_IN, "theirs")


def test_a_program_that_the_account_cannot_reach_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    program = closed / "box"
    program.write_text("#!/bin/sh\necho box 1.0\n")
    program.chmod(0o755)
    monkeypatch.setattr("runners.local.which", lambda name: str(program))
    stranger = Identity(name="ann", uid=54321, gid=54321, groups=(), home=Path("/"))
    assert not reaches(stranger, program)
    missing = find("box", stranger, "install it")
    assert isinstance(missing, Missing)
    assert "ann may not execute" in missing.what
    assert find("box", Identity.current(), "").version == "box 1.0"
