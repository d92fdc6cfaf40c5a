"""The tidiness check of `make check`: each fault is found, and a tidy file has none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TIDY = Path(__file__).parents[2] / "ci" / "tidy.py"
LEFT_OPEN = "TO" + "DO"
FAULTS = {
    "too long": ("a.py", "x = 1\n" * 301, "a.py: 301 lines"),
    "long function": ("a.py", "def f():\n" + "    x = 1\n" * 40, "a.py:1: f has 41 lines"),
    "vague name": ("matrix_utils.py", "", "matrix_utils.py: a name that says nothing"),
    "left open": ("a.sh", f"true\n# {LEFT_OPEN} later\n", f"a.sh:2: {LEFT_OPEN} left in"),
    "new syntax": ("attacks/a.py", "match 1:\n    case _:\n        pass\n", "attacks/a.py:3: not Python 3.8"),
    "third party": ("attacks/a.py", "import psutil\n", "attacks/a.py:1: imports psutil"),
    "its own package": ("attacks/a.py", "from attacks import syscalls\n", "attacks/a.py:1: imports attacks"),
    "relative": ("attacks/a.py", "from . import syscalls\n", "attacks/a.py:1: imports ."),
    "index": ("a.lock", "x==1\n--index-url https://example.invalid\n", "a.lock:2: a lock names packages"),
}


def tidy(root: Path, name: str, text: str) -> subprocess.CompletedProcess[str]:
    subprocess.run(["git", "init", "--quiet", root], check=True)
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).write_text(text)
    return subprocess.run([sys.executable, TIDY, root], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(tmp_path: Path, fault: str) -> None:
    name, text, said = FAULTS[fault]
    ran = tidy(tmp_path, name, text)
    assert ran.returncode == 1
    assert ran.stdout.startswith(said)


def test_the_folder_of_the_checkout_is_found(tmp_path: Path) -> None:
    assert "names the folder" in tidy(tmp_path, "a.md", f"cd {tmp_path}/out\n").stdout


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("attacks/a.py", "import os\nimport syscalls\n\n\ndef attempt(target):\n    return ''\n"),
        ("a.py", "x = 1\n" * 300),
        ("a.lock", "x==1 ; sys_platform == 'linux' \\\n    --hash=sha256:00\n"),
    ],
)
def test_a_tidy_file_has_no_fault(tmp_path: Path, name: str, text: str) -> None:
    ran = tidy(tmp_path, name, text)
    assert (ran.returncode, ran.stdout) == (0, "tidy\n")
