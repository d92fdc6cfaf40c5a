"""Every row of proc, ptrace and ipc, unconfined: its witness sees the attack, and nothing but the attack.

For each row a deliberately idle attack must be seen nowhere, while the witness proves that it would
have seen one; and a witness whose object is gone must say that it is blind.
"""

import json
import os
import subprocess
from pathlib import Path

import psutil
import pytest

from matrix import sweep
from matrix.evidence import Nothing, Seen, Silent
from matrix.tests.unconfined import IDLE, attack, rows
from matrix.witnesses import kernel_keys, keyring, realtime
from matrix.witnesses.contract import Unplantable

ROOT = os.geteuid() == 0
SECTIONS = ("proc.json", "ptrace.json", "ipc.json")
ROWS = {name: case for name, case in rows(*SECTIONS).items() if not case.world}
PRIVILEGED = {"proc-fresh-mount-unmask", "proc-fresh-mount-unmask-fsopen"}  # unconfined, they take root
RUNNABLE = [name for name in ROWS if ROOT or name not in PRIVILEGED]


def planted(watching):
    try:
        return watching.plant()
    except Unplantable as why:
        pytest.skip(str(why))  # a host without keys or queues, and a kernel older than pidfs


@pytest.mark.parametrize("name", RUNNABLE)
def test_the_attack_is_seen_unconfined(witness, name):
    watching = witness(name)
    told = planted(watching)
    assert isinstance(watching.look(None), Nothing)
    attempted = attack(ROWS[name], told)
    assert isinstance(watching.look(attempted), Seen), attempted


@pytest.mark.parametrize("name", RUNNABLE)
def test_an_idle_attack_is_seen_nowhere_and_the_witness_proves_that_it_can_see(witness, name):
    watching = witness(name)
    planted(watching)
    assert isinstance(watching.look(IDLE), Nothing)
    assert watching.check() == ""
    assert isinstance(watching.look(IDLE), Nothing), "its own proof is no sighting of the attack's canary"


@pytest.mark.parametrize("name", [name for name in RUNNABLE if "token" not in str(ROWS[name].plant)])
def test_a_canary_to_be_read_is_never_told(witness, name):
    watching = witness(name)
    told = planted(watching).told
    reads = not ({"takes", "write"} & set(ROWS[name].plant))
    canary = getattr(watching, "canary", watching.ground.token)
    assert (
        (canary in json.dumps(told)) is False
        if reads
        else "token" in told or "value" in told or "values" in told
    )


@pytest.mark.parametrize("name", [name for name in RUNNABLE if ROWS[name].witness == "victim"])
def test_a_victim_that_died_makes_its_witness_blind(witness, name):
    watching = witness(name)
    planted(watching)
    psutil.Process(watching.victim.pid).kill()
    psutil.wait_procs([psutil.Process(watching.victim.pid)], timeout=0.5)
    assert "has ended" in watching.check()
    assert isinstance(watching.look(IDLE), Nothing)


@pytest.mark.parametrize("name", ["pt-vm-write", "pt-signal-kill", "pt-sigio-fown-limit", "pt-attach-peek"])
def test_a_victim_that_was_stopped_makes_its_witness_blind(witness, name):
    watching = witness(name)
    planted(watching)
    victim = psutil.Process(watching.victim.pid)
    victim.suspend()
    assert watching.check() != ""
    assert isinstance(watching.look(IDLE), Nothing)


def gone(watching):
    """Take the planted object away behind the witness's back."""
    match watching.ground.case.witness:
        case "sysv":
            watching.object.remove()
        case "posix_shm":
            realtime.forget_memory(watching.name)
        case "posix_mq":
            os.close(watching.queue)
            watching.queue = os.open(os.devnull, os.O_RDWR)
        case "keyring":
            kernel_keys.forget(watching.key)
        case "reopened":
            os.dup2(os.open(os.devnull, os.O_RDWR), watching.open[0])


@pytest.mark.parametrize("name", [name for name in RUNNABLE if ROWS[name].witness != "victim"])
def test_an_object_that_is_gone_makes_its_witness_blind(witness, name):
    watching = witness(name)
    planted(watching)
    gone(watching)
    assert watching.check() != ""


def test_another_process_under_the_victims_number_is_left_alone(witness):
    """The number is right, the process is not: no attack may touch it."""
    with subprocess.Popen(["sleep", "20"]) as bystander:
        for name in RUNNABLE:
            case = ROWS[name]
            if case.witness != "victim":
                continue
            told = planted(watching := witness(name))
            attempted = attack(case, type(told)(told={**told.told, "pid": bystander.pid}))
            assert isinstance(attempted.said, Silent), (name, attempted)
            assert attempted.said.why.startswith("absent"), (name, attempted)
            assert isinstance(watching.look(attempted), Nothing), name
        assert bystander.poll() is None
        assert os.getpriority(os.PRIO_PROCESS, bystander.pid) == os.getpriority(os.PRIO_PROCESS, 0)
        assert psutil.Process(bystander.pid).status() == psutil.STATUS_SLEEPING
        bystander.kill()


def test_a_victim_ends_with_the_harness(witness):
    watching = witness("pt-signal-kill")
    planted(watching)
    victim = psutil.Process(watching.victim.pid)
    watching.victim._popen.stdin.close()  # as the kernel does when the harness dies
    assert psutil.wait_procs([victim], timeout=5)[1] == []


def test_all_that_was_planted_is_in_the_ledger_and_swept(run, witness):
    """As after a kill -9 of the harness: nothing was closed, the ledger alone is left."""
    for name in ("pt-attach-peek", "ipc-sysv-shm-read", "ipc-sysv-msg-read", "ipc-sysv-sem-read",
                 "ipc-posix-shm-read", "ipc-posix-mq-read", "ipc-keyring-session-read"):  # fmt: skip
        planted(witness(name))
    kinds = {entry.kind for entry in run.entries()}
    assert kinds == {"pid", "sysv-shm", "sysv-msg", "sysv-sem", "posix-shm", "posix-mq", "key"}
    names = {entry.kind: entry.name for entry in run.entries()}
    assert sweep.sweep(run) == []
    assert not psutil.pid_exists(int(names["pid"].split()[0])) or not psutil.Process().children()
    assert not Path(f"/dev/shm{names['posix-shm']}").exists()
    assert names["sysv-shm"] not in Path("/proc/sysvipc/shm").read_text().split()
    with pytest.raises(OSError, match="such file"):
        realtime.forget_queue(names["posix-mq"])
    with pytest.raises(OSError, match="key"):
        kernel_keys.read(int(names["key"]))


def test_the_harness_leaves_the_callers_session_keyring_alone(witness):
    """The first key is made in a keyring that this process did not have before."""
    before = kernel_keys.session()
    watching = witness("ipc-keyring-session-read")
    planted(watching)
    assert kernel_keys.session() in keyring._joined
    assert before in keyring._joined or before != kernel_keys.session()
