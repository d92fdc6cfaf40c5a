"""The proof that the harness is not blind, on the sandboxes of this machine, as the present account.

Where nothing is closed everything escapes; where one protection is taken away, what it closed escapes.
Where ESCAPE_MATRIX_FACTS is "required" nothing is skipped: a sandbox that is missing fails.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from matrix import locate
from matrix.errors import DataError
from matrix.load import load_table
from matrix.load_backends import load_backends
from matrix.model import Backend, Leg, Listed, Reason, Verdict
from matrix.record import Report
from matrix.tests import samples
from matrix.tests.blindness import misses, run, silences
from matrix.tests.samples import ESCAPED, HELD, untested
from runners.contract import Channel

REQUIRED = os.environ.get("ESCAPE_MATRIX_FACTS") == "required"
ROOT = sys.platform == "linux" and os.geteuid() == 0
HERE = Path(__file__).parent

BUILT_IN = {column.id: column for column in load_backends(locate.backends())}
CASES = {case.id: case for case in load_table(locate.table()).cases}
OPEN = [
    column.id
    for column in BUILT_IN.values()
    if column.wide_open and (ROOT or column.runner != "docker")  # who may ask a daemon of root's is root
]

READ = {"path-dotdot-read-absolute", "path-dotdot-read-relative", "path-dotdot-read-list"}
LOST = {
    "shares-net": {"lo-tcp4", "lo-udp-sendto", "lo-inbound-listen", "ux-abstract-connect"},
    "shares-pid": {"proc-host-pid-limits", "proc-host-pid-pidfd", "pt-signal-kill", "left-daemon"},
    "shares-proc": {"proc-host-pid-cmdline", "proc-host-pid-listing"},
    "shares-ipc": {
        *(f"ipc-sysv-{what}-{act}" for what in ("shm", "msg", "sem") for act in ("read", "write")),
        *("ipc-posix-mq-read", "ipc-posix-mq-write"),
    },
    "same-session": {"tty-tiocsti"},
    "outlives-parent": {"left-daemon"},
    "inherits-environment": {
        f"env-inherit-secret-{what}" for what in ("aws", "github", "api-key", "random", "program")
    },
    "shows-var-tmp": READ,
    "gives-var-tmp": READ | {f"path-absolute-write-{how}" for how in ("overwrite", "append", "create")},
    "gives-dev": {"ipc-posix-shm-read", "ipc-posix-shm-write"},
}
LOST_OF_TIER1 = {
    "no-filters": {"lo-vsock", "ipc-keyring-session-read", "ipc-keyring-session-write"},
    "keeps-descriptors": {
        *(f"fd-inherited-file-{what}" for what in ("read", "write", "seek", "flag", "memory", "pipe")),
        *(f"fd-inherited-dir-{what}" for what in ("read", "path", "parent", "create")),
        *(f"fd-inherited-socket-{what}" for what in ("tcp", "unix", "reconnect")),
        *("proc-fd-reopen", "proc-fd-reopen-dev-fd", "proc-fd-reopen-fchmod"),
    },
    "keeps-terminal": {"tty-state-leftover-raw", "tty-state-leftover-size"},
    "keeps-environment": {"env-supervisor-environ"},
    "moves-ancestors": {
        f"path-deny-ancestor-rename-write-{how}" for how in ("parent", "ancestor", "exchange", "link")
    },
    "lets-strangers-in": {
        *("path-hardlink-alias-planted-read", "path-hardlink-alias-planted-write"),
        *("path-hardlink-alias-hidden", "path-hardlink-alias-protected"),
        *("ux-pathname-connect-workspace", "ux-scm-rights"),
    },
    "keeps-network": {"lo-tcp4", "ux-abstract-connect", "lo-inbound-listen"},
}
ABLATED = {"bubblewrap": ("ablation.toml", LOST), "tier1": ("ablation-tier1.toml", LOST_OF_TIER1)}
"""The column with every protection → the file of those with one less, and what each of them lets out."""


def chosen(option: str, names: object) -> list[str]:
    return [word for name in names for word in (option, name)]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Every row without a sandbox and in every wide-open one."""
    return run(tmp_path_factory.mktemp("open"), *chosen("--backend", ["null", *OPEN]))


@pytest.fixture(scope="module")
def ablated(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Report]:
    """The rows that single protections close, with each of those taken away, and with none."""

    @functools.cache
    def report(whole: str) -> Report:
        file, lost = ABLATED[whole]
        rows = chosen("--case", sorted(set().union(*lost.values())))
        columns = chosen("--backend", [whole, *lost])
        return run(tmp_path_factory.mktemp("ablation"), "--backends", str(HERE / file), *rows, *columns)

    return report


def must_be_there(report: Report, column: str) -> None:
    if missing := report.column(column).missing:
        (pytest.fail if REQUIRED else pytest.skip)(missing)


@pytest.mark.real
@pytest.mark.timeout(600)
@pytest.mark.skipif(sys.platform != "linux", reason="the built-in rows and sandboxes are Linux's")
class TestReal:
    def test_without_a_sandbox_every_row_escapes_whose_control_is_seen(self, opened: Report) -> None:
        assert [*silences(opened, BUILT_IN["null"], CASES)] == []

    @pytest.mark.parametrize("column", OPEN)
    def test_a_wide_open_sandbox_holds_only_what_is_listed(self, opened: Report, column: str) -> None:
        must_be_there(opened, column)
        assert [*silences(opened, BUILT_IN[column], CASES)] == []

    @pytest.mark.parametrize(
        ("whole", "column"), [(whole, column) for whole, (_, lost) in ABLATED.items() for column in lost]
    )
    def test_a_protection_taken_away_lets_out_what_it_closed(
        self, ablated: Callable[[str], Report], whole: str, column: str
    ) -> None:
        must_be_there(ablated(whole), column)
        assert [*misses(ablated(whole), column, ABLATED[whole][1][column], whole, CASES)] == []


@pytest.mark.parametrize("whole", ABLATED)
def test_every_ablation_has_its_rows(whole: str) -> None:
    file, lost = ABLATED[whole]
    assert [column.id for column in load_backends(HERE / file)] == [*lost]
    assert all(lost.values())


def test_a_reason_may_say_when_it_holds(tmp_path: Path) -> None:
    column = '[box]\ntitle = "box"\nrunner = "bubblewrap"\nplatforms = ["linux"]\noptions.mode = "open"\n'
    column += "[box.listed]\n"
    (tmp_path / "box.toml").write_text(column + 'one = "why"\ntwo.root = "why"\n')
    [box] = load_backends(tmp_path / "box.toml")
    assert box.listed == {"one": Listed(why="why"), "two": Listed(why="why", only="root")}
    for wrong in ('one.root = "a"\none.user = "b"', 'one.never = "a"', 'one.root = ""', "one = {}"):
        (tmp_path / "box.toml").write_text(column + wrong)
        with pytest.raises(DataError):
            load_backends(tmp_path / "box.toml")


# Doubles: reports that a blind harness would write.

BOX = Backend(
    id="box",
    title="",
    runner="box",
    platforms=("linux",),
    options={},
    claims=None,
    wide_open=True,
    listed={
        "left-daemon": Listed(why="its own processes"),
        "lo-tcp4": Listed(why="as root alone", only="root"),
        "lo-udp-sendto": Listed(why="here and there", only="sometimes"),
    },
)
FAILED = Reason.CONTROL_FAILED
TTY = {"dev.tty.legacy_tiocsti": "0", "CapEff": "0", "uid": "1000"}


def said(case: str, verdict: Verdict, column: Backend, identity: str, host: Mapping[str, str]) -> list[str]:
    leg = Leg(platform="linux", identity=identity)
    cell = samples.cell(case, verdict, backend=column.id, leg=leg)
    return [*silences(samples.report(cell, host=host), column, {case: CASES[case]})]


@pytest.mark.parametrize(
    ("case", "verdict", "identity", "quiet"),
    [
        ("lo-tcp6", ESCAPED, "user", True),
        ("lo-tcp6", HELD, "user", False),
        ("lo-tcp6", untested(), "user", False),
        ("lo-tcp6", untested(Reason.FAULT), "user", False),
        ("lo-tcp6", untested(Reason.UNCONFIRMED), "user", False),
        ("lo-tcp6", untested(Reason.NO_CHANNEL), "user", True),
        ("lo-tcp6", untested(FAILED, "unconfined: connect: ECONNREFUSED"), "user", False),
        ("lo-tcp6", untested(Reason.NO_WORLD), "user", False),
        ("lo-alt-protocols-sctp", untested(FAILED, "protocol 132: Protocol not supported"), "user", True),
        ("lo-alt-protocols-sctp", untested(FAILED, "unconfined: connect: timed out"), "user", False),
        ("lo-tcp6", untested(FAILED, "protocol 132: Protocol not supported"), "user", False),
        ("tty-tiocsti", untested(FAILED, "unconfined: ioctl: EIO"), "user", True),  # TTY explains it
        ("tty-state-leftover-raw", untested(FAILED, "unconfined: ioctl: EIO"), "user", False),
        ("raw-icmp", untested(Reason.NOT_INSTALLED, "nothing"), "user", False),
        ("left-daemon", HELD, "user", True),
        ("left-daemon", untested(Reason.FAULT), "user", False),
        ("left-daemon", ESCAPED, "user", False),  # a stale reason
        ("lo-tcp4", HELD, "root", True),
        ("lo-tcp4", HELD, "user", False),
        ("lo-tcp4", ESCAPED, "user", True),
        ("lo-tcp4", ESCAPED, "root", False),
        ("lo-udp-sendto", HELD, "user", True),
        ("lo-udp-sendto", ESCAPED, "user", True),
    ],
)
def test_a_silence_is_told_and_only_a_silence(
    case: str, verdict: Verdict, identity: str, *, quiet: bool
) -> None:
    told = said(case, verdict, BOX, identity, TTY)
    assert [line.partition(":")[0] for line in told] == ([] if quiet else [case])


def test_a_row_without_a_cell_is_told() -> None:
    report = samples.report(samples.cell("lo-tcp6", ESCAPED, backend="box"))
    assert [*silences(report, BOX, {case: CASES[case] for case in ("lo-tcp6", "raw-icmp")})] == [
        "raw-icmp: no cell"
    ]
    assert [*misses(report, "box", {"lo-udp-sendto"}, "box", CASES)][-1] == "lo-udp-sendto: no cell"


def test_what_cannot_be_started_in_the_world_is_no_silence() -> None:
    firejail, why = (
        replace(BOX, runner="firejail"),
        "firejail is set-uid root, which gains nothing in a user namespace",
    )
    for case, quiet in (("raw-icmp", True), ("lo-tcp6", False)):
        assert (said(case, untested(Reason.NOT_INSTALLED, why), firejail, "user", {}) == []) is quiet


def test_the_bare_command_carries_every_channel_but_records_of_refusals() -> None:
    bare = replace(BOX, runner="command", listed={})
    assert said("lo-tcp6", untested(Reason.NO_CHANNEL), bare, "user", {}) != []
    records = next(case.id for case in CASES.values() if Channel.RECORDS in case.channels)
    assert said(records, untested(Reason.NO_CHANNEL), bare, "user", {}) == []


def test_only_what_must_get_through_is_held_by_a_column_that_closes_nothing() -> None:
    rows = [case for case in CASES.values() if case.proxied]
    allowed, denied = (next(case.id for case in rows if case.allowed is which) for which in (True, False))
    assert said(allowed, HELD, BOX, "user", {}) == []
    assert said(denied, HELD, BOX, "user", {}) != []
    assert said(allowed, untested(Reason.OVER_REFUSED), BOX, "user", {}) != []
    rows = [case for case in CASES.values() if case.subject == "decision"]
    fine, faulty = (next(case.id for case in rows if case.allowed is which) for which in (True, False))
    assert said(fine, untested(Reason.OVER_REFUSED), BOX, "user", {}) == []
    assert said(faulty, untested(Reason.OVER_REFUSED), BOX, "user", {}) != []


@pytest.mark.parametrize(
    ("strict", "without", "other", "quiet"),
    [
        (HELD, ESCAPED, HELD, True),
        (HELD, HELD, HELD, False),
        (HELD, untested(Reason.FAULT), HELD, False),
        (ESCAPED, ESCAPED, HELD, False),
        (untested(), ESCAPED, HELD, False),
        (HELD, ESCAPED, ESCAPED, False),
        (untested(FAILED, "unconfined: ioctl: EIO"), untested(FAILED), HELD, True),
    ],
)
def test_an_ablation_that_shows_nothing_is_told(
    strict: Verdict, without: Verdict, other: Verdict, *, quiet: bool
) -> None:
    report = samples.report(
        samples.cell("tty-tiocsti", strict, backend="whole"),
        samples.cell("lo-tcp4", HELD, backend="whole"),
        samples.cell("tty-tiocsti", without, backend="less"),
        samples.cell("lo-tcp4", other, backend="less"),
        host=TTY,
    )
    assert (not [*misses(report, "less", {"tty-tiocsti"}, "whole", CASES)]) is quiet
