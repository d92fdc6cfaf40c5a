"""The in-sandbox launcher: what each outcome of an attempt becomes, end to end in a process of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import attacks

LAUNCHER = Path(attacks.__file__).with_name("launcher.py")
NONCE = "em-nonce"
ATTACKS = {
    "refuses": "import os\ndef attempt(t):\n    t.step('open')\n    os.open('/nonexistent/x', os.O_RDONLY)\n",
    "acts": "def attempt(t):\n    t.step('read')\n    return t.secret.encode() + bytes([255])\n",
    "acts_silently": "def attempt(t):\n    pass\n",
    "finds_inside": "def attempt(t):\n    return t.inside('here')\n",
    "finds_nothing": "def attempt(t):\n    return t.absent('/proc')\n",
    "cannot": "def attempt(t):\n    raise NotImplementedError('no such call')\n",
    "crashes": "def attempt(t):\n    t.step('a')\n    return t.never_told\n",
    "exits": "import sys\ndef attempt(t):\n    sys.exit(0)\n",
    "vanishes": "import os\ndef attempt(t):\n    os._exit(0)\n",
    "dies": "import os\ndef attempt(t):\n    t.step('kill')\n    os.kill(os.getpid(), 31)\n",
    "sleeps": "import time\ndef attempt(t):\n    t.step('sleep')\n    time.sleep(30)\n",
    "waits": (
        "import socket\ndef attempt(t):\n"
        "    one, other = socket.socketpair()\n    one.settimeout(0.05)\n    one.recv(1)\n"
    ),
    "floods": "def attempt(t):\n    return 'x' * 10_000_000\n",
    "prints": 'import os\ndef attempt(t):\n    os.write(1, b\'em-nonce {"kind": "said"\')\n    os.close(1)\n',
    "needs_more": "import no_such_module\ndef attempt(t):\n    pass\n",
    "kills_parent": "import os, signal\ndef attempt(t):\n    os.kill(os.getppid(), signal.SIGKILL)\n",
}


@pytest.fixture
def launch(tmp_path: Path):
    shutil.copy(LAUNCHER, tmp_path)
    shutil.copy(LAUNCHER.with_name("syscalls.py"), tmp_path)
    for name, text in ATTACKS.items():
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "alive").write_text("token")

    def run(*names: str, seconds: float = 5):
        told = {"secret": "s"}
        tasks = [
            {"id": name, "attack": name, "told": told, "seconds": seconds, "alive": str(tmp_path / "alive")}
            for name in names
        ]
        (tmp_path / "request.json").write_text(json.dumps({"nonce": NONCE, "attempts": tasks}))
        command = [sys.executable, "-I", "-S", "-B", tmp_path / "launcher.py", tmp_path / "request.json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        lines = [line.split(" ", 1)[1] for line in done.stdout.splitlines() if line.startswith(NONCE + " {")]
        return [json.loads(line) for line in lines if line != '{"kind": "said"']

    return run


def said(lines, name: str):
    return next(line for line in lines if line["kind"] == "said" and line["id"] == name)


def end(lines, name: str):
    return next(line for line in lines if line["kind"] == "end" and line["id"] == name)


@pytest.mark.parametrize(
    ("name", "word", "facts"),
    [
        ("refuses", "refused", {"errno": 2}),
        ("acts", "acted", {"trace": "s\xff", "inside": ""}),
        ("acts_silently", "acted", {"trace": "", "inside": ""}),
        ("finds_inside", "acted", {"trace": "", "inside": "here"}),
        ("finds_nothing", "absent", {"looked_at": "/proc"}),
        ("cannot", "unsupported", {"why": "no such call"}),
        ("exits", "crashed", {"text": "SystemExit: 0"}),
        ("waits", "timed_out", {}),
        ("no_such_attack", "unsupported", {"why": "unknown attack"}),
        ("needs_more", "unsupported", {"why": "the interpreter here lacks no_such_module"}),
    ],
)
def test_each_outcome_has_one_word(launch, name: str, word: str, facts: dict[str, object]) -> None:
    lines = launch(name)
    assert {key: said(lines, name)[key] for key in ("said", *facts)} == {"said": word, **facts}
    assert end(lines, name)["alive"] == "token"
    assert lines[0]["kind"] == "hello"
    assert lines[-1]["kind"] == "bye"


def test_a_crash_is_never_a_refusal(launch) -> None:
    assert said(launch("crashes"), "crashes")["said"] == "crashed"


@pytest.mark.parametrize("name", ["vanishes", "dies", "sleeps"])
def test_nothing_is_said_for_an_attempt_that_said_nothing(launch, name: str) -> None:
    lines = launch(name, seconds=0.3)
    assert not [line for line in lines if line["kind"] == "said"]
    assert end(lines, name)["late"] is (name == "sleeps")
    if sys.platform == "linux":
        assert end(lines, name)["signal"] == {"vanishes": 0, "dies": 31, "sleeps": 0}[name]


def test_one_attempt_does_not_disturb_the_next(launch) -> None:
    names = [
        "dies",
        "floods",
        "prints",
        "sleeps",
        "crashes",
        "refuses",
        "acts",
        "vanishes",
        "cannot",
        "finds_inside",
    ]
    lines = launch(*names, seconds=0.3)
    assert [line["id"] for line in lines if line["kind"] == "end"] == names
    assert said(lines, "refuses")["errno"] == 2
    assert len(said(lines, "floods")["trace"]) == 65536


def test_after_the_launcher_is_killed_nothing_more_is_said(launch) -> None:
    lines = launch("kills_parent", "refuses")
    assert not [line for line in lines if line.get("id") == "refuses"]
    assert lines[-1]["kind"] != "bye"
