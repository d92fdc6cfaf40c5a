"""Facts that are known of real sandboxes, each by a row and two columns that differ by one flag.

A harness that does not find them is wrong about everything else. Where ESCAPE_MATRIX_FACTS is
"required" nothing is skipped: a sandbox that is missing fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from matrix.model import Cell, Escaped, Held
from matrix.report import jsonl

COLUMNS = Path(__file__).with_name("facts.toml")
REQUIRED = os.environ.get("ESCAPE_MATRIX_FACTS") == "required"
ROOT = os.geteuid() == 0
NEEDED = ("bwrap", "firejail", "unshare")

pytestmark = pytest.mark.facts

FACTS = [
    ("tty-tiocsti", "plain-unshare", Escaped, ""),
    ("tty-tiocsti", "bwrap-same-session", Escaped, ""),
    # The kernel skips the question whose terminal it is for a caller with CAP_SYS_ADMIN.
    ("tty-tiocsti", "bwrap-new-session", Escaped if ROOT else Held, ""),
    # firejail flushes the terminal's input when it exits: only a look during the run sees it.
    ("tty-tiocsti", "firejail-noprofile", Escaped, "as input"),
    ("left-daemon", "bwrap-unshare-pid", Escaped, ""),
    ("left-daemon", "bwrap-die-with-parent", Held, "private copy"),
    ("ux-abstract-connect", "bwrap-host-network", Escaped, ""),
    ("ux-abstract-connect", "bwrap-unshare-net", Held, ""),
    ("ux-pathname-connect", "bwrap-unshare-net", Escaped, ""),
    ("lo-udp-sendto", "bwrap-host-network", Escaped, ""),
    ("lo-udp-sendto", "bwrap-unshare-net", Held, "private copy"),
    ("env-supervisor-environ", "bwrap-clearenv", Escaped, "/proc/1/environ"),
    ("ipc-keyring-session-read", "bwrap-unshare-all", Escaped, ""),
    ("ipc-keyring-user-read", "bwrap-unshare-all", Held, ""),
]


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Mapping[tuple[str, str], Cell]:
    """One run of all rows and columns of the facts, in a process of its own, as this account."""
    missing = [
        name for name in NEEDED if shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin") is None
    ]
    if missing and not REQUIRED:
        pytest.skip(f"not installed: {', '.join(missing)}")
    out = tmp_path_factory.mktemp("facts")
    command = [sys.executable, "-m", "matrix", "run", "--out", str(out), "--backends", str(COLUMNS)]
    for case in sorted({case for case, *_ in FACTS}):
        command += ["--case", case]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    report = jsonl.read(out / "report.jsonl")
    assert report.complete, (report.faults, done.stdout, done.stderr)
    return {(cell.case, cell.backend): cell for cell in report.cells}


@pytest.mark.parametrize(("case", "column", "word", "evidence"), FACTS)
def test_fact(
    cells: Mapping[tuple[str, str], Cell], case: str, column: str, word: type, evidence: str
) -> None:
    cell = cells[case, column]
    assert isinstance(cell.verdict, word), (cell.word, cell.verdict)
    assert evidence in cell.verdict.evidence
