"""The built wheel has all that a run needs, leaves the tests out, and works from an empty folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COLUMN = """\
[mine]
title = "unshare, my flags"
runner = "command"
platforms = ["linux"]
claims = ["loopback"]
options.python = "/usr/bin/python3"
options.argv = ["unshare", "--user", "--map-root-user", "--net", "--", "{command}"]
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", out]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (built,) = out.glob("*.whl")
    return built


def test_the_wheel_holds_code_and_data_and_no_tests(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = [f"attacks/{each.name}" for each in (ROOT / "attacks").glob("*.py")]
    wanted += [f"matrix/_testdata/cases/{each.name}" for each in (ROOT / "testdata/cases").glob("*.json")]
    wanted += ["matrix/_testdata/egress-cases.json", "runners/backends.toml", "runners/unshare.sh"]
    assert [each for each in wanted if each not in names] == []
    assert [name for name in names if "/tests/" in name] == []


@pytest.fixture
def installed(wheel: Path, tmp_path: Path) -> Path:
    """A folder with the wheel in it and nothing of this checkout; its packages come from this .venv."""
    site = tmp_path / "site"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--target",
        site,
        wheel,
    ]
    subprocess.run(pip, check=True, capture_output=True)
    return site


def escape_matrix(site: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    folder.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, site / "bin" / "escape-matrix", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_lists_its_rows_from_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    ran = escape_matrix(installed, tmp_path / "empty", "list", "cases")
    assert ran.returncode == 0, ran.stderr
    assert "lo-tcp4" in ran.stdout


@pytest.mark.real
def test_it_runs_a_column_of_ones_own_from_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    (folder / "my.toml").write_text(COLUMN)
    ran = escape_matrix(
        installed, folder, "run", "--backends", "my.toml", "--case", "lo-tcp4", "--out", "out"
    )
    lines = [json.loads(line) for line in (folder / "out" / "report.jsonl").read_text().splitlines()]
    cells = [(line["backend"], line["case"], line["verdict"]) for line in lines if line["kind"] == "cell"]
    assert cells == [("mine", "lo-tcp4", "held")], ran.stdout + ran.stderr
    assert ran.returncode == 0, ran.stdout + ran.stderr
