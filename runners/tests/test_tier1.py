"""The sandbox itself, started: what no row of the matrix looks at, and the way through its proxy."""

from __future__ import annotations

import ast
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from runners.contract import Channel, Egress, Exit, Found, Identity
from runners.tests.bench import Bench, bench, identities, own, see
from runners.tests.conformance import left
from runners.tier1.runner import Runner

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is Linux's"),
]

LOOK = """
import errno, os, resource
def tried(act):
    try:
        return act() or "done"
    except OSError as error:
        return errno.errorcode[error.errno]
def mode(path):
    os.chmod(path, os.stat(path).st_mode & 0o7777)
def status(pid, field):
    return [line.split()[1] for line in open("/proc/%s/status" % pid) if line.startswith(field + ":")][0]
open("own", "w").close()
os.symlink("own", "link") if not os.path.islink("link") else None
found = {
    "the mode of /dev/null": tried(lambda: mode("/dev/null")),
    "the mode of /dev/null, by pid 1": tried(lambda: mode("/proc/1/fd/0")),
    "the mode of descriptor 0": tried(lambda: os.fchmod(0, os.fstat(0).st_mode & 0o7777)),
    "/dev/null is written": tried(lambda: open("/dev/null", "w").write("x") and None),
    "a set-uid file": tried(lambda: os.chmod("own", 0o4755)),
    "/proc/sys is written": tried(lambda: open("/proc/sys/kernel/core_pattern", "r+").close()),
    "pid 1's memory is written": tried(lambda: open("/proc/1/mem", "r+b").close()),
    "cores": (resource.setrlimit(4, (0, 0)), resource.getrlimit(4))[1],
    "kallsyms": tried(lambda: open("/proc/kallsyms").read(1)),
    "/etc/hosts is written": tried(lambda: open("/etc/hosts", "w").close()),
    "resolv.conf": tried(lambda: open("/etc/resolv.conf").read()),
    "filters": {status(pid, "Seccomp_filters") for pid in (1, "self")},
    "rights": {status(pid, "CapBnd") + status(pid, "CapEff") for pid in (1, "self")},
    "environ of pid 1": tried(lambda: open("/proc/1/environ").read()),
    "root": sorted(set(os.listdir("/")) - {"lib32", "libx32", "opt", "root"}),
}
print(found)
"""
SEEN = {
    "the mode of /dev/null": "EROFS",
    "the mode of /dev/null, by pid 1": "EROFS",
    "the mode of descriptor 0": "EROFS",
    "/dev/null is written": "done",
    "a set-uid file": "EPERM",
    "/proc/sys is written": "EROFS",
    "pid 1's memory is written": "EROFS",
    "cores": (1, 1),
    "kallsyms": "EACCES",
    "/etc/hosts is written": "EROFS",
    "resolv.conf": "ENOENT",
    "filters": {"2"},
    "rights": {"0" * 32},
    "environ of pid 1": "done",
}
ASK = """
import socket, time, urllib.error, urllib.request
try:
    print(urllib.request.urlopen("http://10.9.9.9/"))
except urllib.error.HTTPError as error:
    print(error.code, error.headers["X-Denial-Class"])
begun = time.monotonic()
try:
    socket.getaddrinfo("wiki.corp.test", 443)
except socket.gaierror as error:
    print(error.args[0] == socket.EAI_NONAME, time.monotonic() - begun < 5)
try:
    socket.create_connection(("10.9.9.9", 80), timeout=5)
except OSError as error:
    print(error.strerror)
"""


@pytest.fixture(params=["system", "wheel"])
def bwrap(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=identities(), ids=lambda each: "root" if each.root else "user")
def made(request: pytest.FixtureRequest, bwrap: str) -> Iterator[Bench]:
    with benched(request.param, bwrap=bwrap) as each:
        yield each


def benched(identity: Identity, **options: object):
    runner = Runner({"mode": "strict", **options})
    found = runner.find(identity)
    if not isinstance(found, Found):
        pytest.skip(found.what)
    return bench(runner, identity)


def test_nothing_of_the_machine_can_be_changed_from_inside(made: Bench) -> None:
    ended = made.see(LOOK)
    assert ended.exit == Exit(), ended
    seen = ast.literal_eval(ended.output.decode())
    shown = seen.pop("root")
    # Who owns none of it is told so before the mount is asked.
    foreign = {key: "EPERM" for key in SEEN if "mode of" in key} | {"/proc/sys is written": "EACCES"}
    assert seen == SEEN | ({} if made.identity.root else foreign)
    assert {"home", "run", "sys", "mnt", "srv", "boot"}.isdisjoint(shown)


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary account owns no device")
def test_without_its_protection_root_could_change_a_device() -> None:
    """The double. What it sets is the mode that the device has."""
    with benched(Identity.current(), lacks=["devices"]) as made:
        assert "'the mode of /dev/null': 'done'" in made.see(LOOK).output.decode()


def test_the_proxy_is_the_way_out_and_what_it_refuses_is_on_record(made: Bench) -> None:
    egress = Egress(manifest=("api.test",), resolver=("127.0.0.1", 1))
    running = made.start(ASK, policy=replace(made.policy(), egress=egress))
    close, running.close = running.close, lambda: None
    try:
        ended = see(running)
        assert ended.output.decode().splitlines() == ["403 private", "True True", "Network is unreachable"], (
            ended
        )
        [denial] = running.denials()
        assert (denial.kind, denial.address, denial.remedy) == ("unlisted", "10.9.9.9", ("tenant",))
        assert [each.entry for each in running.proposals()] == ["10.9.9.9"]
        assert running.dials() == ()
        assert "10.9.9.9" in running.log()
        running.renew(replace(egress, manifest=()))
        assert running.denials() == ()
        assert running.change(Egress(manifest=("https://no-entry/",))) != ()
    finally:
        close()


def test_what_stood_for_a_missing_name_is_gone_afterwards(made: Bench) -> None:
    hidden, protected = made.workspace / "a/hidden", made.workspace / "b/rules"
    look = "import os; print(os.listdir('a/hidden'), open('b/rules').read() == ''); os.mkdir('c')"
    ended = made.see(look, policy=made.policy(hidden=(hidden,), protected=(protected,)))
    assert ended.output.split() == [b"[]", b"True"], ended
    assert sorted(each.name for each in made.workspace.iterdir()) == ["c"]


def test_a_link_on_the_way_is_declined_with_a_sentence(made: Bench) -> None:
    (made.workspace / "\x1b]0;link").symlink_to(made.run)
    ended = made.see("print('started')", policy=made.policy(hidden=(made.workspace / "\x1b]0;link/x",)))
    assert ended.exit == Exit(code=2)
    assert b"declined" in ended.errors
    assert rb"\u{001B}]0;link is a link" in ended.errors  # a terminal would obey the name
    assert b"started" not in ended.output


def test_nobody_listens_in_what_is_shown(made: Bench) -> None:
    (shown := made.run / "shown").mkdir()
    (shown / "page").write_text("read")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(shown / "socket"))
        listener.listen()
        (shown / "socket").chmod(0o777)
        ask = f"""
import socket
print(open("{shown}/page").read())
try:
    print(socket.socket(socket.AF_UNIX).connect("{shown}/socket"))
except OSError as error:
    print(error.strerror)
"""
        seen = [
            replace(made, runner=Runner({**made.runner.options, "lacks": lacks})).see(
                ask, policy=made.policy(shown=(shown,))
            )
            for lacks in ([], ["strangers"])
        ]
    assert seen[0].output.startswith(b"read\n"), seen
    assert b"None" not in seen[0].output
    assert seen[1].output == b"read\nNone\n"


def test_directories_above_a_protected_file_stay_where_they_are(made: Bench) -> None:
    folder = made.workspace / "a/b"
    folder.mkdir(parents=True)
    (folder / "rules").write_text("the rules")
    for each in (folder.parent, folder, folder / "rules"):
        own(each, made.identity)
    move = """
import errno, os
for name in ("a/b/rules", "a/b", "a"):
    try:
        os.rename(name, name + "-away")
        print(name, "moved")
    except OSError as error:
        print(name, errno.errorcode[error.errno])
"""
    protected = made.policy(protected=(folder / "rules",))
    assert made.see(move, policy=protected).output.split(b"\n")[:3] == [
        *(b"a/b/rules EBUSY", b"a/b EBUSY", b"a EBUSY")
    ]
    double = replace(made, runner=Runner({**made.runner.options, "lacks": ["pins"]}))
    assert b"a/b moved" in double.see(move, policy=protected).output


def test_a_killed_launcher_leaves_nothing_although_it_stood_between_terminals(made: Bench) -> None:
    outer, inner = os.openpty()
    sleep = f"import time; print('up', flush=True); time.sleep(20)  # {made.run}"
    terminal = Path(os.ttyname(inner))
    running = made.start(sleep, terminal=terminal, channels=frozenset({Channel.TERMINAL}))
    ended = see(running, until=lambda each: b"up" in each.output)
    os.close(outer)
    os.close(inner)
    assert b"up" in ended.output
    assert left(made) == ""


def test_a_person_s_door(tmp_path: Path) -> None:
    if not isinstance(Runner({"mode": "strict"}).find(Identity.current()), Found):
        pytest.skip("bubblewrap is not installed")
    ask = "import sys, urllib.request as r\ntry: r.urlopen('http://other.test/')\nexcept OSError: sys.exit(7)"
    argv = [sys.executable, "-P", "-m", "runners.tier1", "run", "--allow", "api.test", "--records", "refused"]
    done = subprocess.run(
        [*argv, "--workspace", str(tmp_path), "--", "/usr/bin/python3", "-c", ask],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=tmp_path,
    )
    assert done.returncode == 7, done
    assert "refused other.test:80: unlisted" in done.stderr
    assert '"host": "other.test"' in (tmp_path / "refused").read_text()


def test_a_person_s_file_is_read_and_the_code_that_runs_outside_cannot_be_planted(tmp_path: Path) -> None:
    if not isinstance(Runner({"mode": "strict"}).find(Identity.current()), Found):
        pytest.skip("bubblewrap is not installed")
    (workspace := tmp_path / "ws").mkdir()
    (tmp_path / "in").write_text("given")
    command = [
        "--",
        "/usr/bin/python3",
        "-c",
        "print(open(0).read()); open('/proc/self/fd/0', 'r+').write('x')",
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended: dict[str, subprocess.CompletedProcess[str]] = {}
    for flag in ("-P", "-B"):
        with (tmp_path / "in").open() as file:
            ended[flag] = subprocess.run(
                [sys.executable, flag, "-m", "runners.tier1", "run", *command],
                stdin=file,
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
                env=environment,
                cwd=workspace,
            )
    assert ended["-P"].stdout == "given\n"
    assert (tmp_path / "in").read_text() == "given"
    assert ended["-B"].stdout == ""
    assert f"{workspace} is in use outside the sandbox" in ended["-B"].stderr
