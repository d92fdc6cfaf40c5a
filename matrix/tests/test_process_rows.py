"""The process rows on the real thing: nothing is held unconfined, and what namespaces hold is as known."""

import os
import shutil

import pytest

from matrix import world
from matrix.tests.network_samples import verdicts

pytestmark = pytest.mark.real
ROWS = "(proc|pt|ipc)-"
ROOT = os.geteuid() == 0
BARE = {"python": "/usr/bin/python3"}
PRIVILEGED = {"proc-fresh-mount-unmask", "proc-fresh-mount-unmask-fsopen"}  # unconfined, they take root


def command(*argv):
    return world.call(verdicts, "command", {**BARE, "argv": [*argv, "--", "{command}"]}, ROWS)


@pytest.fixture(scope="module", autouse=True)
def possible():
    """As root in a world that changes nothing else. A user's world has a user namespace around it."""
    if not ROOT:
        pytest.skip("as an ordinary user the world itself is a user namespace: see the whole run")
    if isinstance(there := world.standing(), world.Impossible):
        pytest.skip(there.why)
    for program in ("bwrap", "unshare"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")


@pytest.fixture(scope="module")
def unconfined():
    return world.call(verdicts, "unconfined", {}, ROWS)


@pytest.fixture(scope="module")
def bubblewrap():
    return world.call(verdicts, "bubblewrap", {"mode": "usual"}, ROWS)


@pytest.fixture(scope="module")
def host_proc():
    """A pid namespace of its own, and the host's /proc all the same."""
    return command("bwrap", "--dev-bind", "/", "/", "--unshare-pid")


@pytest.fixture(scope="module")
def user_namespace():
    return command("unshare", "--user", "--map-root-user")


def test_unconfined_everything_escapes(unconfined):
    assert len(unconfined) > 45
    assert {name: word for name, word in unconfined.items() if not word.startswith("escaped")} == {}


def test_the_session_keyring_is_inherited_through_every_namespace(bubblewrap, user_namespace):
    for row in ("ipc-keyring-session-read", "ipc-keyring-session-write"):
        assert bubblewrap[row].startswith("escaped")
        assert user_namespace[row].startswith("escaped")


def test_the_user_keyring_is_cut_off_by_a_user_namespace(bubblewrap, user_namespace):
    for row in ("ipc-keyring-user-read", "ipc-keyring-user-write"):
        assert user_namespace[row].startswith("held refused: search: ENOKEY")
        assert bubblewrap[row].startswith("held refused: search: ENOKEY")


def test_namespaces_hold_every_process_row_that_needs_no_inherited_object(bubblewrap):
    let_through = {name for name, word in bubblewrap.items() if word.startswith("escaped")}
    keys = {"ipc-keyring-session-read", "ipc-keyring-session-write"}
    assert let_through == keys | {name for name in bubblewrap if name.startswith("proc-fd-reopen")}
    assert not {name: word for name, word in bubblewrap.items() if word.startswith("untested")}


def test_a_pid_namespace_with_the_hosts_proc_holds_calls_and_not_paths(host_proc):
    for row in ("pt-vm-read", "pt-attach-poke", "pt-signal-kill", "pt-pidfd-getfd", "proc-host-pid-limits"):
        assert host_proc[row].startswith("held not visible"), host_proc[row]
    for row in ("pt-mem-read", "pt-mem-write", "proc-environ-other", "proc-root-magiclink-root-write"):
        assert host_proc[row].startswith("escaped"), host_proc[row]


def test_a_user_namespace_alone_holds_debuggers_and_no_signals(user_namespace):
    for row in ("pt-attach-peek", "pt-vm-write", "pt-mem-read", "pt-pidfd-getfd", "proc-environ-other"):
        assert user_namespace[row].startswith("held refused"), user_namespace[row]
    for row in ("pt-signal-kill", "pt-signal-queue", "pt-sigio-fown", "pt-sigio-fown-nice"):
        assert user_namespace[row].startswith("escaped"), user_namespace[row]
