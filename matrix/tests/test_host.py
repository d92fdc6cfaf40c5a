"""Facts of a machine, read from a made-up one; switches, and what they stand against."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from matrix import host, locate
from matrix.host import Machine, facts, families
from matrix.load import load_table
from matrix.switches import ABSENT, SWITCHES, defeating, explain, names
from runners.contract import Identity

USER = Identity(name="builder", uid=os.geteuid(), gid=1000, groups=(1000, 27), home=Path("/home/builder"))
SECRET = "em-not-for-anybody"

FILES = {
    "proc/sys/dev/tty/legacy_tiocsti": "0\n",
    "proc/sys/kernel/yama/ptrace_scope": "1\n",
    "proc/sys/net/ipv4/ping_group_range": "1\t0\n",
    "proc/self/status": "Name:\tpython3\nCapEff:\t000001ffffffffff\nNoNewPrivs:\t1\nSeccomp:\t2\n",
    "proc/self/environ": f"TOKEN={SECRET}\0",
    "proc/self/mounts": "proc /proc proc rw,nosuid,hidepid=2 0 0\ntmpfs /tmp tmpfs rw 0 0\n",
    "proc/net/protocols": "protocol  size sockets\nMPTCP     2064      0\nTCP       2064      3\n",
    "sys/kernel/security/lsm": "lockdown,capability,landlock,yama,apparmor\n",
    "etc/os-release": 'PRETTY_NAME="Ubuntu 24.04 LTS"\nID=ubuntu\nID_LIKE=debian\n',
    "boot/config-6.8.0": "# a comment\nCONFIG_KEYS=y\n# CONFIG_X86_X32_ABI is not set\n",
    "dev/vsock": "",
}


def nothing(argv: Sequence[str]) -> str:
    raise AssertionError(f"no command is needed here: {argv}")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Machine(
        system="linux", root=tmp_path, ask=nothing, landlock=lambda: "7", release="Linux 6.8.0 x86_64"
    )


def test_what_is_there_is_recorded_and_what_is_not_is_absent(machine: Machine) -> None:
    found = facts(USER, machine)
    expected = {
        "kernel": "Linux 6.8.0 x86_64",
        "distribution": "Ubuntu 24.04 LTS",
        "gid": "1000",
        "groups": "27 1000",
        "NoNewPrivs": "1",
        "Seccomp": "2",
        "lsm": "lockdown,capability,landlock,yama,apparmor",
        "landlock": "7",
        "proc.hidepid": "2",
        "container": ABSENT,
        "device.vsock": "present",
        "keyrings": ABSENT,
        "dev.tty.legacy_tiocsti": "0",
        "kernel.yama.ptrace_scope": "1",
        "net.ipv4.ping_group_range": "1 0",
        "kernel.io_uring_disabled": ABSENT,
        "protocol.mptcp": "present",
        "protocol.sctp": ABSENT,
        "config.keys": "y",
        "config.x86_x32_abi": "n",
    }
    assert {name: found.get(name) for name in expected} == expected
    assert families(machine) == ("ubuntu", "debian")


def test_every_switch_is_recorded(machine: Machine) -> None:
    assert set(names()) <= facts(USER, machine).keys()


def test_no_environment_is_among_the_facts(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EM_TEST_SECRET", SECRET)
    assert SECRET not in repr(facts(USER, machine))
    assert SECRET not in repr(facts(Identity.current()))


def test_an_account_that_is_changed_to_has_no_capabilities(machine: Machine) -> None:
    other = Identity(name="other", uid=54321, gid=54321, groups=(), home=Path("/"))
    assert facts(other, machine)["CapEff"] == "0" * 16
    own = Identity(name="own", uid=os.geteuid(), gid=0, groups=(), home=Path("/"))
    assert facts(own, machine)["CapEff"] == "000001ffffffffff"


def test_an_empty_machine_has_every_fact_absent(tmp_path: Path) -> None:
    empty = Machine(system="linux", root=tmp_path, ask=nothing, landlock=lambda: ABSENT, release="Linux")
    found = facts(USER, empty)
    assert {found[name] for name in (*names(), "CapEff", "lsm", "distribution", "proc.hidepid")} == {ABSENT}


def test_a_mac_is_asked_by_its_own_commands(tmp_path: Path) -> None:
    answers = {
        ("sw_vers", "-productVersion"): "15.5",
        ("sw_vers", "-buildVersion"): "24F74",
        ("csrutil", "status"): "System Integrity Protection status: enabled.",
        ("launchctl", "managername"): "Aqua",
        ("sysctl", "-n", "sysctl.proc_translated"): "0",
        ("sysctl", "-n", "kern.hv_vmm_present"): "1",
    }
    mac = Machine(
        system="darwin",
        root=tmp_path,
        ask=lambda argv: answers.pop(tuple(argv)),
        landlock=nothing,  # type: ignore[arg-type]
        release="Darwin 24.5.0 arm64",
    )
    found = facts(USER, mac)
    assert not answers
    assert found["macos"] == "15.5"
    assert found["sip"] == "System Integrity Protection status: enabled."
    assert "CapEff" not in found


def test_a_command_that_is_not_there_is_absent() -> None:
    assert host.this_machine().ask(["em-no-such-program"]) == ABSENT
    assert host.this_machine().ask(["false"]) == ABSENT


def test_switches_are_said_as_a_person_would_set_them() -> None:
    known = {"dev.tty.legacy_tiocsti": "0", "CapEff": "00"}
    assert explain(["dev.tty.legacy_tiocsti", "CapEff"], known) == "dev.tty.legacy_tiocsti=0, CapEff=00"
    assert explain(["kernel.new"], known) == "kernel.new=not recorded"
    assert explain([], known) == ""


NONE, ADMIN, PTRACE = "0", f"{1 << 21:x}", f"{1 << 19:x}"


@pytest.mark.parametrize(
    ("switch", "value", "more", "defeats"),
    [
        ("dev.tty.legacy_tiocsti", "0", {"CapEff": NONE}, True),
        ("dev.tty.legacy_tiocsti", "0", {"CapEff": ADMIN}, False),
        ("dev.tty.legacy_tiocsti", "1", {"CapEff": NONE}, False),
        ("dev.tty.legacy_tiocsti", ABSENT, {}, False),
        ("kernel.yama.ptrace_scope", "1", {}, False),
        ("kernel.yama.ptrace_scope", "2", {}, True),
        ("kernel.yama.ptrace_scope", "2", {"CapEff": PTRACE}, False),
        ("kernel.yama.ptrace_scope", "3", {"CapEff": PTRACE}, True),
        ("user.max_user_namespaces", "0", {}, True),
        ("kernel.unprivileged_userns_clone", "0", {"uid": "1000"}, True),
        ("kernel.unprivileged_userns_clone", "0", {"uid": "0"}, False),
        ("kernel.apparmor_restrict_unprivileged_userns", "1", {"uid": "1000"}, True),
        ("kernel.io_uring_disabled", "1", {"CapEff": NONE}, True),
        ("kernel.io_uring_disabled", "1", {"CapEff": ADMIN}, False),
        ("kernel.io_uring_disabled", "2", {"CapEff": ADMIN}, True),
        ("net.ipv4.ping_group_range", "1 0", {"gid": "0", "groups": "0 27"}, True),
        ("net.ipv4.ping_group_range", "0 2147483647", {"gid": "0"}, False),
        ("net.ipv4.ping_group_range", "27 27", {"gid": "0", "groups": "0 27"}, False),
        ("net.ipv4.ping_group_range", ABSENT, {}, False),
        ("net.ipv6.conf.lo.disable_ipv6", "1", {}, True),
        ("net.ipv6.conf.lo.disable_ipv6", ABSENT, {}, True),
        ("net.ipv4.tcp_fastopen", "2", {}, True),
        ("net.ipv4.tcp_fastopen", "3", {}, False),
        ("net.mptcp.enabled", "0", {}, True),
    ],
)
def test_what_a_switch_stands_against(switch: str, value: str, more: dict[str, str], defeats: bool) -> None:  # noqa: FBT001
    found = defeating({switch: value, **more})
    assert [each.name for each in found] == ([switch] if defeats else [])


def test_only_the_switches_asked_for_are_named() -> None:
    known = {"net.mptcp.enabled": "0", "user.max_user_namespaces": "0"}
    assert [each.name for each in defeating(known, ["net.mptcp.enabled"])] == ["net.mptcp.enabled"]


def test_each_switch_is_named_once_and_says_how_to_change_it() -> None:
    assert len({switch.name for switch in SWITCHES}) == len(SWITCHES)
    assert all(switch.change.startswith(f"sysctl -w {switch.name}=") for switch in SWITCHES)


def test_every_switch_of_a_row_is_a_fact_that_is_recorded(machine: Machine) -> None:
    known = facts(USER, machine).keys()
    rows = load_table(locate.table()).cases
    assert not {(row.id, name) for row in rows for name in row.switches if name not in known}
