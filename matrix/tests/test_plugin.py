"""The plugin: inert unless asked, an item a cell, and an end that a gate can rely on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from matrix import locate
from matrix.report import jsonl

TABLE = locate.table().resolve()
COLUMNS = """
[bare]
title = "the bare command"
runner = "command"
platforms = ["linux", "macos"]
claims = []
options.argv = ["{command}"]

[claims-all]
title = "claims everything, does nothing"
runner = "command"
platforms = ["linux", "macos"]
options.argv = ["{command}"]

[runs-nothing]
title = "exits 0"
runner = "command"
platforms = ["linux", "macos"]
claims = ["loopback"]
options.argv = ["/bin/true", "{command}"]

[not-found]
title = "exits 127"
runner = "command"
platforms = ["linux", "macos"]
claims = ["loopback"]
options.argv = ["/bin/sh", "-c", "exit 127", "{command}"]

[only-words]
title = "prints a refusal and exits 1"
runner = "command"
platforms = ["linux", "macos"]
claims = ["loopback"]
options.argv = ["/bin/sh", "-c", "echo Operation not permitted; exit 1", "{command}"]
"""


@pytest.fixture
def columns(tmp_path: Path) -> Path:
    file = tmp_path / "columns.toml"
    file.write_text(COLUMNS)
    return file


def run(tmp_path: Path, *arguments: str, program: tuple[str, ...] = ("matrix", "run")):
    environment = {**os.environ, "PYTHONPATH": str(TABLE.parent.parent)}
    alone = (
        ("-n", "1") if program[0] == "matrix" and "-n" not in arguments else ()
    )  # workers take time to start
    command = [sys.executable, "-m", *program, *arguments, *alone]
    return subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


def read(tmp_path: Path):
    return jsonl.read(tmp_path / "out" / "report.jsonl")


def test_it_is_inert_in_other_peoples_projects(tmp_path: Path) -> None:
    (tmp_path / "test_theirs.py").write_text("def test_theirs():\n    assert True\n")
    done = run(tmp_path, "-q", "-p", "matrix.plugin", program=("pytest",))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    assert "held" not in done.stdout


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_escape_that_nobody_claimed_is_clean(tmp_path: Path, columns: Path, workers: str) -> None:
    asked = ("--backends", str(columns), "--backend", "bare", "--case", "lo-tcp4", "-n", workers)
    done = run(tmp_path, *asked)
    assert done.returncode == 0, done.stdout + done.stderr
    (cell,) = read(tmp_path).cells
    assert (cell.word, cell.claimed) == ("escaped", False)
    assert cell.repeat.startswith("escape-matrix run --case lo-tcp4 --backend bare --backends ")
    assert "launcher.py" in " ".join(cell.argv)


def test_a_claimed_escape_ends_with_10(tmp_path: Path, columns: Path) -> None:
    done = run(tmp_path, "--backends", str(columns), "--backend", "claims-all", "--case", "lo-tcp4")
    assert done.returncode == 10, done.stdout + done.stderr


@pytest.mark.parametrize("column", ["runs-nothing", "not-found", "only-words"])
def test_a_column_that_runs_nothing_is_never_green(tmp_path: Path, columns: Path, column: str) -> None:
    done = run(tmp_path, "--backends", str(columns), "--backend", column, "--mechanism", "loopback")
    assert done.returncode in {11, 15}, done.stdout + done.stderr
    assert {cell.word for cell in read(tmp_path).cells} == {"untested"}


def test_under_plain_pytest_each_outcome_says_what_it_is(tmp_path: Path, columns: Path) -> None:
    asked = ["--escape-matrix", f"--em-backends={columns}", "--em-case=lo-tcp4", "--em-case=lo-tcp4-alias"]
    named = [f"--em-backend={name}" for name in ("bare", "claims-all", "runs-nothing")]
    done = run(
        tmp_path, str(TABLE), *asked, *named, "-rA", "--junitxml=cells.xml", "-k", "not alias",
        program=("pytest", "-p", "matrix.plugin", "-p", "no:cacheprovider", "-c", os.devnull, "--noconftest"),
    )  # fmt: skip
    assert "lo-tcp4@bare@linux" in done.stdout or sys.platform != "linux"
    assert "escaped, not claimed" in done.stdout
    assert "untested: not started" in done.stdout
    assert "1 failed" in done.stdout
    cases = ET.parse(tmp_path / "cells.xml").getroot().iter("testcase")
    columns_run = sorted(case.get("name", "").split("@")[1] for case in cases)
    assert columns_run == ["bare", "claims-all", "runs-nothing"]


def test_a_dead_worker_makes_the_report_incomplete(tmp_path: Path, columns: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "import os, pytest\n"
        "@pytest.hookimpl(tryfirst=True)\n"
        "def pytest_runtest_call(item):\n"
        "    if 'lo-tcp4-alias@' in item.name: os._exit(9)\n"
    )
    asked = ["--escape-matrix", f"--em-backends={columns}", "--em-backend=bare", "--em-mechanism=loopback"]
    done = run(
        tmp_path, str(TABLE), *asked, "--em-out=out", "-n", "2", "-p", "conftest", "--max-worker-restart=0",
        program=("pytest", "-p", "matrix.plugin", "-p", "no:cacheprovider", "-c", os.devnull),
    )  # fmt: skip
    assert done.returncode == 14, done.stdout + done.stderr
    found = read(tmp_path)
    assert not found.complete
    owed = sum(len(column.cases) for column in found.header.columns)
    last = f"out/report.jsonl has {len(found.cells)} of {owed} cells, each with its evidence."
    assert last in done.stdout.splitlines()


def test_an_unwritable_place_is_said_in_one_line(tmp_path: Path, columns: Path) -> None:
    done = run(tmp_path, "--backends", str(columns), "--case", "lo-tcp4", "--out", "/dev/full/x")
    assert done.returncode == 16, done.stdout + done.stderr
    [line] = done.stderr.splitlines()
    assert line.startswith("/dev/full/x/report.jsonl: the report cannot be written: ")


def test_the_plan_starts_nothing(tmp_path: Path, columns: Path) -> None:
    done = run(tmp_path, "--backends", str(columns), "--plan")
    assert done.returncode == 0, done.stderr
    assert "bare" in done.stdout
    assert not (tmp_path / "out").exists()


def test_expectations_are_read_before_anything_runs(tmp_path: Path, columns: Path) -> None:
    (tmp_path / "expect.toml").write_text("[x]\nexpect = 'hold'\n")
    done = run(tmp_path, "--backends", str(columns), "--case", "lo-tcp4", "--expect", "expect.toml")
    assert done.returncode == 13, done.stdout + done.stderr
    assert not (tmp_path / "out").exists()


def test_the_report_names_what_it_was_made_with(tmp_path: Path, columns: Path) -> None:
    done = run(tmp_path, "--backends", str(columns), "--backend", "bare", "--case", "lo-tcp4")
    assert done.stdout.splitlines()[-1] == "out/report.jsonl has every cell with its evidence."
    header = json.loads((tmp_path / "out" / "report.jsonl").read_text().splitlines()[0])
    assert set(header["digests"]) == {"table", "attacks", "backends"}
    assert all(len(digest) == 64 for digest in header["digests"].values())
