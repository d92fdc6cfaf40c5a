"""The import contracts of pyproject.toml: each one breaks when what it forbids is written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLANTED = {
    "runners.contract -> matrix.model": "a runner that knows the harness",
    "matrix.load -> attacks.lo_tcp": "the harness running an attack itself",
    "attacks.lo_tcp -> psutil": "an attack that needs more than the standard library",
    "matrix.errors -> matrix.load": "an import against the layers",
    "matrix.verdict -> socket": "a judge that looks around",
    "runners.tier1.judge -> socket": "the reference's judgement looking around",
    "runners.tier1.addresses -> runners.tier1.lint": "an import against the layers of that judgement",
    "runners.contract -> runners.command": "two modules that know each other",
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What import-linter says of a copy of the project that has every forbidden import in it."""
    copy = tmp_path_factory.mktemp("copy")
    for package in ("matrix", "runners", "attacks"):
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("tests", "__pycache__"))
    for chain in PLANTED:
        importer, imported = chain.split(" -> ")
        with (copy / importer.replace(".", "/")).with_suffix(".py").open("a") as file:
            file.write(f"\nimport {imported}\n")
    linter = Path(sys.executable).with_name("lint-imports")
    ran = subprocess.run(
        [linter, "--no-cache", "--config", ROOT / "pyproject.toml"],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.parametrize("chain", PLANTED)
def test_a_forbidden_import_is_named(said: str, chain: str) -> None:
    assert chain in said, PLANTED[chain]


def test_every_contract_can_break(said: str) -> None:
    assert " KEPT" not in said
    assert said.count(" BROKEN") == 8
