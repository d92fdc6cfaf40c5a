"""What tests of witnesses share: every row, and its attack unconfined as the in-sandbox launcher runs it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import attacks
from matrix import locate
from matrix.evidence import Acted, Attempted, Refused, Seen, Silent
from matrix.load import load_table
from runners.contract import default_python

ROWS = {case.id: case for case in load_table(locate.table()).cases if "linux" in case.platforms}
IDLE = Attempted(said=Acted(trace="did nothing"))
DRIVE = """
import json, os, sys
child = os.fork()
if child:
    sys.exit(os.waitpid(child, 0)[1])
sys.path.insert(0, sys.argv[1])
import importlib, launcher
out = os.dup(1)
target = launcher.Target(json.loads(sys.argv[3]), lambda *_, **__: None)
said, facts = launcher.judge_nothing(importlib.import_module(sys.argv[2]).attempt, target)
os.write(out, json.dumps([said, facts]).encode())
"""


def rows(*sections):
    """The rows of those section files, by their id."""
    return {name: case for name, case in ROWS.items() if case.source.file.endswith(sections)}


def attack(case, planted, told=None):
    """Run the row's attack, the leader of a session with the planted terminal."""
    told = {**case.args, **planted.told, "harness": os.getpid(), **(told or {})}
    stdin = os.open(planted.terminal or os.devnull, os.O_RDWR | os.O_NOCTTY)
    out = os.memfd_create("out")  # no pipe, which a stray would hold open
    lead = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n" if planted.terminal else ""
    folder = str(Path(attacks.__file__).parent)
    subprocess.run(
        [default_python(), "-I", "-S", "-c", lead + DRIVE, folder, case.attack, json.dumps(told)],
        stdin=stdin,
        stdout=out,
        stderr=stdin if planted.terminal else None,
        check=True,
        timeout=20,
        cwd=planted.cwd,
        pass_fds=planted.descriptors,
        env={"PATH": "/usr/bin:/bin", **planted.environment, **planted.granted},
        start_new_session=True,
    )
    said, facts = json.loads(os.pread(out, 1 << 16, 0))
    os.close(stdin)
    os.close(out)
    if said == "acted":
        return Attempted(said=Acted(**facts))
    return Attempted(
        said=Refused(errno=facts["errno"]) if said == "refused" else Silent(why=f"{said} {facts}")
    )


def until_seen(watching, attempted, seconds=3.0):
    """Look as an arm does, until something is seen or the time is over."""
    end = time.monotonic() + seconds
    while not isinstance(found := watching.look(attempted), Seen) and time.monotonic() < end:
        time.sleep(0.005)
    return found
