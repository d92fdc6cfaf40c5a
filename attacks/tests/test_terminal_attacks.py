"""The terminal, leftover, descriptor and environment attacks: what they call, and what they leave alone.

What they do on Linux is tried beside their witnesses. No Mac has run the macOS calls: their
constants are those of xnu's headers (sys/ttycom.h, sys/filio.h).
"""

import ctypes
import errno
import fcntl
import importlib
import os
import socket
import sys
import termios
from pathlib import Path

import pytest

import attacks

TOKEN = "em0123456789abcdef"
DARWIN = {"TIOCSTI": 0x80017472, "TIOCSCTTY": 0x20007461, "FIONREAD": 0x4004667F}
LINUX = {"TIOCSTI": 0x5412, "TIOCSCTTY": 0x540E, "FIONREAD": 0x541B}


@pytest.fixture(autouse=True)
def flat(monkeypatch):
    """Attacks import the two shared files from their own folder."""
    monkeypatch.syspath_prepend(str(Path(attacks.__file__).parent))


def load(name):
    return importlib.import_module(name)


def run(attack, platform="linux", **told):
    """(what it said, the facts, the steps), as the in-sandbox launcher would report them."""
    steps = []
    target = load("launcher").Target({"token": TOKEN, **told}, lambda _, step: steps.append(step), platform)
    said, facts = load("launcher").judge_nothing(load(attack).attempt, target)
    return said, facts, steps


class Call:
    """One function of a fake libc: notes what it is given, as numbers and bytes."""

    def __init__(self, name, calls, answer):
        self.name, self.calls, self.answer = name, calls, answer

    def __call__(self, *arguments):
        given = [getattr(argument, "_obj", argument) for argument in arguments]  # what byref() holds
        self.calls.append((self.name, *(getattr(one, "value", one) for one in given)))
        return self.answer(*given)


class FakeLibc:
    def __init__(self, answers):
        self.calls, self.answers = [], answers

    def __getattr__(self, name):
        self.__dict__[name] = Call(name, self.calls, self.answers.get(name, lambda *_: 0))
        return self.__dict__[name]


@pytest.fixture
def libc(monkeypatch):
    def install(**answers):
        fake = FakeLibc(answers)
        monkeypatch.setattr(load("syscalls"), "libc", lambda: fake)
        return fake

    return install


def refuse(code):
    def answer(*_):
        ctypes.set_errno(code)
        return -1

    return answer


def pushes(numbers, descriptor=0):
    return [("ioctl", descriptor, numbers["TIOCSTI"], bytes([byte])) for byte in TOKEN.encode() + b"\n"]


@pytest.mark.parametrize(("platform", "numbers"), [("linux", LINUX), ("darwin", DARWIN)])
@pytest.mark.parametrize(("via", "descriptor"), [("fd0", 0), ("fd2", 2)])
def test_each_byte_of_the_token_is_pushed_and_the_queue_is_counted(libc, platform, numbers, via, descriptor):
    fake = libc()
    said, facts, steps = run("tty_tiocsti", platform, via=via)
    assert (said, facts["inside"], steps) == ("acted", "", ["ioctl"])
    assert fake.calls == [*pushes(numbers, descriptor), ("ioctl", descriptor, numbers["FIONREAD"], 0)]


def test_bytes_that_wait_in_the_terminal_shown_inside_are_told(libc):
    def ioctl(_, request, argument):
        if request == LINUX["FIONREAD"]:
            argument.value = 40
        return 0

    libc(ioctl=ioctl)
    assert "40 bytes" in run("tty_tiocsti", via="fd0")[1]["inside"]


def test_a_refused_push_is_a_refusal(libc):
    fake = libc(ioctl=refuse(errno.EPERM))
    said, facts, steps = run("tty_tiocsti", "darwin", via="fd0")
    assert (said, facts["errno"], steps, len(fake.calls)) == ("refused", errno.EPERM, ["ioctl"], 1)


@pytest.mark.parametrize(("platform", "path"), [("linux", "/proc/self/fd/0"), ("darwin", "/dev/fd/0")])
def test_descriptor_0_is_opened_afresh_by_its_name(libc, monkeypatch, platform, path):
    libc()
    opened = []
    monkeypatch.setattr(os, "open", lambda *given: opened.append(given) or 7)
    assert run("tty_tiocsti", platform, via="reopen")[2] == ["open", "ioctl"]
    assert opened == [(path, os.O_RDWR | os.O_NOCTTY)]


@pytest.mark.parametrize("high", [1, 1 << 31, 0xFFFFFFFF])
def test_high_bits_reach_the_raw_call(libc, high):
    fake = libc()
    assert run("tty_tiocsti_highbits", high=high)[0] == "acted"
    requests = {call[3] & (1 << 64) - 1 for call in fake.calls}
    assert requests == {high << 32 | LINUX["TIOCSTI"], LINUX["FIONREAD"]}
    assert {call[1] for call in fake.calls} == {load("syscalls").number("ioctl")}


def test_a_selection_is_made_and_pasted(libc, monkeypatch):
    fake = libc(ioctl=refuse(errno.ENOTTY))
    monkeypatch.setattr(os, "write", lambda *_: None)
    said, facts, steps = run("tty_tioclinux")
    assert (said, facts["errno"], steps) == ("refused", errno.ENOTTY, ["write", "ioctl"])
    assert fake.calls[0][:3] == ("ioctl", 0, 0x541C)


@pytest.mark.parametrize(("platform", "numbers"), [("linux", LINUX), ("darwin", DARWIN)])
def test_a_bystander_is_taken_and_pushed_into(libc, monkeypatch, platform, numbers):
    fake = libc()
    monkeypatch.setattr(os, "setsid", lambda: None)
    target = load("launcher").Target({"token": TOKEN}, None, platform)
    assert load("tty_bystander").push(target, 9) == 0
    assert fake.calls == [("ioctl", 9, numbers["TIOCSCTTY"], 0), *pushes(numbers, 9)]


@pytest.mark.parametrize(("platform", "numbers"), [("linux", LINUX), ("darwin", DARWIN)])
def test_whoever_stayed_takes_the_terminal_and_pushes(libc, monkeypatch, platform, numbers):
    refusals = [refuse(errno.EPERM), refuse(errno.EPERM)]
    fake = libc(ioctl=lambda *_: refusals.pop()() if refusals else 0)
    for name in ("setsid", "closerange"):
        monkeypatch.setattr(os, name, lambda *_: None)
    reader, writer = os.pipe()
    load("tty_reacquire").wait(load("launcher").Target({"token": TOKEN}, None, platform), writer)
    os.close(writer)
    assert os.read(reader, 9) == b"r"
    os.close(reader)
    assert fake.calls == [*[("ioctl", 0, numbers["TIOCSCTTY"], 0)] * 3, *pushes(numbers)]


def test_force_is_asked_for_with_one(libc, monkeypatch):
    fake = libc()
    monkeypatch.setattr(os, "setsid", lambda: None)
    assert load("tty_reacquire").force(load("launcher").Target({"token": TOKEN}, None, "linux")) == 0
    assert fake.calls == [("ioctl", 0, LINUX["TIOCSCTTY"], 1), *pushes(LINUX)]


def test_another_device_file_system_has_another_terminal_under_the_number(tmp_path):
    (tmp_path / "0").write_text("")
    said, facts, _ = run("tty_bystander", path=str(tmp_path / "0"), device=-1, act="write")
    assert (said, (tmp_path / "0").read_text()) == ("absent", "")
    assert "another device" in facts["looked_at"]


@pytest.mark.parametrize(
    ("attack", "told"),
    [("tty_reacquire", {"way": "wait"}), ("tty_keystrokes", {}), ("tty_state", {"what": "raw", "number": 7})],
)
def test_without_a_terminal_it_is_a_refusal(attack, told, tmp_path, monkeypatch):
    (tmp_path / "log").write_text("")
    with open(os.devnull) as nothing:
        saved = os.dup(0)
        os.dup2(nothing.fileno(), 0)
        try:
            said, facts, _ = run(attack, log=str(tmp_path / "log"), **told)
        finally:
            os.dup2(saved, 0)
            os.close(saved)
    assert (said, facts["errno"]) == ("refused", errno.ENOTTY)


@pytest.mark.parametrize(
    ("platform", "calls"), [("linux", [("prctl", 15, TOKEN[:14].encode(), 0, 0, 0)]), ("darwin", [])]
)
def test_a_stray_beats_and_is_named_where_names_can_be_given(libc, tmp_path, monkeypatch, platform, calls):
    log = tmp_path / "log"
    log.write_text("")
    fake = libc()
    target = load("launcher").Target({"token": TOKEN, "log": str(log), "how": "setsid"}, None, platform)
    monkeypatch.setattr(
        load("left_daemon").time, "sleep", lambda _: log.replace(log.with_name("gone")).unlink()
    )
    beats = []
    monkeypatch.setattr(os, "write", lambda _, data: beats.append(data))
    load("left_daemon").beat(target)
    assert (beats, fake.calls) == ([TOKEN.encode() + b"\n"], calls)


def test_a_log_that_cannot_be_opened_refuses_before_anything_counts():
    for attack, told in (("left_daemon", {"how": "setsid"}), ("tty_keystrokes", {})):
        said, _, steps = run(attack, log="/nonexistent/log", **told)
        assert (said, steps) == ("refused", ["open"])


@pytest.mark.parametrize(
    ("attack", "told"),
    [
        ("tty_tiocsti_highbits", {"high": 1}),
        ("tty_tioclinux", {}),
        ("tty_reacquire", {"way": "force"}),
        ("left_daemon", {"how": "subreaper"}),
        ("fd_inherited_socket", {"act": "reconnect"}),
    ],
)
def test_what_only_linux_has_is_unsupported_elsewhere_and_says_why(attack, told):
    said, facts, steps = run(attack, "darwin", **told)
    assert (said, steps) == ("unsupported", [])
    assert len(facts["why"]) > 20


@pytest.fixture
def copy_of_output():
    """The in-sandbox launcher's own copy of its standard output."""
    copy = os.dup(1)
    yield copy
    os.close(copy)


@pytest.mark.usefixtures("copy_of_output")
class TestInherited:
    def test_a_strangers_file_is_left_alone(self, tmp_path):
        with (tmp_path / "file").open("w+") as file:
            file.write("a stranger's")
            file.flush()
            os.set_inheritable(file.fileno(), True)
            for act in ("read", "write", "flag", "seek"):
                said, facts, _ = run("fd_inherited_file", kind="file", act=act, mark="mine", position=3)
                assert (said, "trace" in facts) == ("absent", False)
            assert os.lseek(file.fileno(), 0, os.SEEK_CUR) == len("a stranger's")
            assert not fcntl.fcntl(file, fcntl.F_GETFL) & os.O_NONBLOCK
        assert (tmp_path / "file").read_text() == "a stranger's"

    def test_the_marked_file_is_read_without_moving_it(self, tmp_path):
        with (tmp_path / "file").open("w+") as file:
            file.write("mine canary")
            file.flush()
            said, facts, steps = run("fd_inherited_file", kind="file", act="read", mark="mine")
            assert (said, facts["trace"], steps) == ("acted", "mine canary", ["look", "read"])
            assert os.lseek(file.fileno(), 0, os.SEEK_CUR) == len("mine canary")

    def test_a_strangers_socket_is_left_alone(self):
        one, other = socket.socketpair()
        with one, other:
            other.sendall(b"hello")
            assert run("fd_inherited_socket", act="send", mark="mine")[0] == "absent"
            assert one.recv(9) == b"hello", "looked at without taking it out"
            other.setblocking(False)
            with pytest.raises(BlockingIOError):
                other.recv(9)

    def test_a_directory_without_the_mark_is_none_of_the_callers(self, tmp_path):
        directory = os.open(tmp_path, os.O_RDONLY)
        said, _, _ = run("fd_inherited_dir", way="descriptor", act="create", mark="mine", name="new")
        os.close(directory)
        assert (said, list(tmp_path.iterdir())) == ("absent", [])


def test_a_look_that_does_not_see_its_own_output_is_no_absence(monkeypatch):
    monkeypatch.setattr(os, "fstat", lambda _: os.stat_result(range(10)))
    monkeypatch.setattr(load("syscalls"), "range", lambda *_: [], raising=False)
    with pytest.raises(RuntimeError, match="own copy"):
        run("fd_inherited_file", kind="file", act="read", mark="mine")


def test_only_the_variable_that_was_told_is_given_back(monkeypatch):
    monkeypatch.setenv("EM_TOLD", TOKEN)
    monkeypatch.setenv("EM_OTHER", "secret")
    for where in ("own", "program"):
        said, facts, _ = run("env_inherit_secret", variable="EM_TOLD", where=where)
        assert (said, facts["trace"]) == ("acted", TOKEN)
        assert run("env_inherit_secret", variable="EM_NONE", where=where)[0] == "absent"


def test_an_empty_environment_is_no_absence(monkeypatch):
    monkeypatch.setattr(os, "environ", {})
    with pytest.raises(RuntimeError):
        run("env_inherit_secret", variable="EM_TOLD", where="own")


class Tree:
    """A /proc of our own: pid → (parent, environment); `seen` are the pids whose environ was opened."""

    def __init__(self, monkeypatch, tree, me, numbers, namespace):
        self.tree, self.numbers, self.seen = tree, numbers, []
        module = load("env_supervisor_environ")
        monkeypatch.setattr(module, "open", self.open, raising=False)
        monkeypatch.setattr(os, "readlink", lambda _: str(me))
        monkeypatch.setattr(os, "stat", lambda _: os.stat_result((0, namespace, *range(8))))

    def open(self, path, mode="r"):
        import io

        pid, what = int(path.split("/")[2]), path.split("/")[3]
        parent, environ = self.tree[pid]
        if what == "status":
            return io.StringIO(f"Groups:\t\nPPid:\t{parent}\nNSpid:\t{self.numbers}\n")
        assert mode == "rb"
        self.seen.append(pid)
        if isinstance(environ, OSError):
            raise environ
        return io.BytesIO(environ)


HERE, OTHER = 100, 200  # inode numbers of process namespaces
SECRET = b"A=1\0EM_X=canary\0"


def supervisor():
    return run("env_supervisor_environ", variable="EM_X", namespace=HERE, harness=5)


def test_in_the_hosts_namespace_the_walk_ends_before_the_harness(monkeypatch):
    tree = {9: (8, b""), 8: (7, b""), 7: (5, b""), 5: (1, SECRET), 1: (0, SECRET)}
    proc = Tree(monkeypatch, tree, 9, "9", HERE)
    assert supervisor()[0] == "absent"
    assert proc.seen == [8, 7]


def test_in_the_hosts_namespace_pid_1_is_never_opened(monkeypatch):
    proc = Tree(monkeypatch, {9: (8, b""), 8: (1, b""), 1: (0, SECRET)}, 9, "9", HERE)
    assert supervisor()[0] == "absent"
    assert proc.seen == [8]


def test_a_proc_that_shows_an_outer_namespace_counts_as_the_hosts(monkeypatch):
    proc = Tree(monkeypatch, {9: (8, b""), 8: (1, b""), 1: (0, SECRET)}, 9, "9 3", OTHER)
    assert supervisor()[0] == "absent"
    assert proc.seen == [8]


def test_pid_1_of_the_sandboxs_own_is_opened_whatever_numbers_the_harness_has(monkeypatch):
    proc = Tree(monkeypatch, {9: (5, b""), 5: (1, b""), 1: (0, SECRET)}, 9, "9", OTHER)
    said, facts, _ = supervisor()
    assert (said, facts["trace"], proc.seen) == ("acted", "/proc/1/environ: canary", [5, 1])


def test_an_environ_that_is_refused_is_a_refusal(monkeypatch):
    Tree(monkeypatch, {9: (1, b""), 1: (0, PermissionError(errno.EACCES, "no"))}, 9, "9", OTHER)
    said, facts, steps = supervisor()
    assert (said, facts["errno"], steps) == ("refused", errno.EACCES, ["walk", "read"])


def test_whoever_sees_no_ancestor_has_not_looked(monkeypatch):
    Tree(monkeypatch, {9: (5, b"")}, 9, "9", HERE)
    with pytest.raises(RuntimeError, match="launcher"):
        supervisor()


def test_constants_are_those_of_this_platform():
    if sys.platform == "linux":
        assert {name: getattr(termios, name) for name in LINUX} == LINUX
