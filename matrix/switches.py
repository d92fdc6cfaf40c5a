"""The switches of a Linux host that decide whether an unconfined attempt can work at all. Pure.

Sources: sysctl/kernel, sysctl/fs, sysctl/user and networking/ip-sysctl of the kernel's own
documentation; capabilities(7), ptrace(2), user_namespaces(7).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

ABSENT = "absent"

CAP_SYS_PTRACE, CAP_SYS_ADMIN = 19, 21

Facts = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Switch:
    """A setting of the host that can make a control fail."""

    name: str  # as sysctl(8) writes it
    defeats: Callable[[str, Facts], bool]  # from its value and the other facts
    effect: str  # what it then does
    change: str  # the command that changes it until the next boot


def can(facts: Facts, capability: int) -> bool:
    """Whether the account has a capability, going by its effective set."""
    try:
        return bool(int(facts.get("CapEff", "0"), 16) >> capability & 1)
    except ValueError:
        return False


def _ordinary(facts: Facts) -> bool:
    return facts.get("uid") != "0"


def _no_ping(value: str, facts: Facts) -> bool:
    """Whether none of the account's groups is in the range that may open ping sockets."""
    try:
        first, last = (int(part) for part in value.split())
    except ValueError:
        return False
    groups = [facts.get("gid", ""), *facts.get("groups", "").split()]
    return not any(first <= int(group) <= last for group in groups if group.isdecimal())


def _is(*values: str) -> Callable[[str, Facts], bool]:
    return lambda value, _facts: value in values


SWITCHES = (
    Switch(
        name="dev.tty.legacy_tiocsti",
        defeats=lambda value, facts: value == "0" and not can(facts, CAP_SYS_ADMIN),
        effect="TIOCSTI is refused to everybody without CAP_SYS_ADMIN",
        change="sysctl -w dev.tty.legacy_tiocsti=1",
    ),
    Switch(
        name="kernel.yama.ptrace_scope",
        defeats=lambda value, facts: value == "3" or (value == "2" and not can(facts, CAP_SYS_PTRACE)),
        effect="ptrace and its relatives are refused, whatever the target allows",
        change="sysctl -w kernel.yama.ptrace_scope=1  (a 3 lasts until the next boot)",
    ),
    Switch(
        name="user.max_user_namespaces",
        defeats=_is("0"),
        effect="no user namespace can be made",
        change="sysctl -w user.max_user_namespaces=15000",
    ),
    Switch(
        name="kernel.unprivileged_userns_clone",
        defeats=lambda value, facts: value == "0" and _ordinary(facts),
        effect="an ordinary account can make no user namespace",
        change="sysctl -w kernel.unprivileged_userns_clone=1",
    ),
    Switch(
        name="kernel.apparmor_restrict_unprivileged_userns",
        defeats=lambda value, facts: value == "1" and _ordinary(facts),
        effect="a user namespace of an ordinary account has no rights, unless a profile grants them",
        change="sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    Switch(
        name="kernel.io_uring_disabled",
        defeats=lambda value, facts: value == "2" or (value == "1" and not can(facts, CAP_SYS_ADMIN)),
        effect="io_uring is refused",
        change="sysctl -w kernel.io_uring_disabled=0",
    ),
    Switch(
        name="net.ipv4.ping_group_range",
        defeats=_no_ping,
        effect="none of this account's groups may open a ping socket",
        change="sysctl -w net.ipv4.ping_group_range='0 2147483647'",
    ),
    Switch(
        name="net.ipv6.conf.all.disable_ipv6",
        defeats=_is("1", ABSENT),
        effect="there is no IPv6",
        change="sysctl -w net.ipv6.conf.all.disable_ipv6=0",
    ),
    Switch(
        name="net.ipv6.conf.lo.disable_ipv6",
        defeats=_is("1", ABSENT),
        effect="there is no ::1",
        change="sysctl -w net.ipv6.conf.lo.disable_ipv6=0",
    ),
    Switch(
        name="net.ipv4.tcp_fastopen",
        defeats=lambda value, _: not (value.isdecimal() and int(value) & 1),
        effect="a client cannot send with TCP Fast Open",
        change="sysctl -w net.ipv4.tcp_fastopen=3",
    ),
    Switch(
        name="net.mptcp.enabled",
        defeats=_is("0", ABSENT),
        effect="there is no Multipath TCP",
        change="sysctl -w net.mptcp.enabled=1",
    ),
    Switch(
        name="fs.mqueue.queues_max",
        defeats=_is("0", ABSENT),
        effect="there are no POSIX message queues",
        change="sysctl -w fs.mqueue.queues_max=256",
    ),
)

USER_NAMESPACES = frozenset(
    {
        "user.max_user_namespaces",
        "kernel.unprivileged_userns_clone",
        "kernel.apparmor_restrict_unprivileged_userns",
    }
)
"""Those that most sandboxes of an ordinary account need."""

RECORDED = (
    "fs.protected_fifos",
    "fs.protected_hardlinks",
    "fs.protected_regular",
    "fs.protected_symlinks",
    "fs.suid_dumpable",
    "kernel.apparmor_restrict_unprivileged_unconfined",
    "kernel.perf_event_paranoid",
    "kernel.unprivileged_bpf_disabled",
    "user.max_net_namespaces",
    "vm.unprivileged_userfaultfd",
)
"""Settings that explain results without defeating a control by themselves."""


def names() -> tuple[str, ...]:
    """Every setting that is read and recorded, in the order of their names."""
    return tuple(sorted([switch.name for switch in SWITCHES] + [*RECORDED]))


def explain(switches: Sequence[str], facts: Facts) -> str:
    """The facts that may explain a failed control: "dev.tty.legacy_tiocsti=0, CapEff=0"."""
    return ", ".join(f"{name}={facts.get(name, 'not recorded')}" for name in switches)


def defeating(facts: Facts, among: Sequence[str] | None = None) -> tuple[Switch, ...]:
    """The switches that stand against an unconfined attempt of this account, all or `among` these."""
    return tuple(
        switch
        for switch in SWITCHES
        if (among is None or switch.name in among)
        and switch.name in facts
        and switch.defeats(facts[switch.name], facts)
    )
