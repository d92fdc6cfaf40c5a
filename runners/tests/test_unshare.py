"""The view that unshare.sh builds, on the real thing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from runners.contract import Identity, Launch, Policy
from runners.unshare import Runner

NAMESPACES = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")
MOUNTED = 'mount -t tmpfs inner /usr/share && echo there >/usr/share/inner && exec "$@"'
LOOK = "cat /usr/share/inner; touch /usr/share/more 2>/dev/null || echo refused"


@pytest.mark.real
def test_mounts_below_what_it_shows_come_along_read_only(tmp_path: Path) -> None:
    """As WSL and containers with a GPU have them below /usr: a user namespace lets nobody leave them out."""
    if not shutil.which("unshare") or subprocess.run([*NAMESPACES, "true"], check=False).returncode:
        pytest.skip("no user namespace can be made here")
    asked = Launch(
        run=tmp_path,
        policy=Policy(workspace=tmp_path, environment={"PATH": "/usr/bin:/bin"}),
        command=("/bin/sh", "-c", LOOK),
        identity=Identity.current(),
        cwd=tmp_path,
        environment={},
    )
    argv = Runner({"mode": "strict"}).argv(asked)
    done = subprocess.run(
        [*NAMESPACES, MOUNTED, "sh", *argv], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout, done.stderr) == ("there\nrefused\n", "")
