"""The terminal and leftover attacks: what they call, and what they leave alone.

What they do on Linux is tried beside their witnesses. No Mac has run the macOS calls: their
constants are those of xnu's headers (sys/ttycom.h, sys/filio.h).
"""

import errno
import os
import termios

import pytest

from attacks.tests import inside
from attacks.tests.inside import TOKEN, load, refused, run, target

DARWIN = {"TIOCSTI": 0x80017472, "TIOCSCTTY": 0x20007461, "FIONREAD": 0x4004667F}
LINUX = {"TIOCSTI": 0x5412, "TIOCSCTTY": 0x540E, "FIONREAD": 0x541B}


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
    fake = libc(refuse=errno.EPERM)
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
    fake = libc(refuse=errno.ENOTTY)
    monkeypatch.setattr(os, "write", lambda *_: None)
    said, facts, steps = run("tty_tioclinux")
    assert (said, facts["errno"], steps) == ("refused", errno.ENOTTY, ["write", "ioctl"])
    assert fake.calls[0][:3] == ("ioctl", 0, 0x541C)


@pytest.mark.parametrize(("platform", "numbers"), [("linux", LINUX), ("darwin", DARWIN)])
def test_a_bystander_is_taken_and_pushed_into(libc, monkeypatch, platform, numbers):
    fake = libc()
    monkeypatch.setattr(os, "setsid", lambda: None)
    assert load("tty_bystander").push(target(platform), 9) == 0
    assert fake.calls == [("ioctl", 9, numbers["TIOCSCTTY"], 0), *pushes(numbers, 9)]


@pytest.mark.parametrize(("platform", "numbers"), [("linux", LINUX), ("darwin", DARWIN)])
def test_whoever_stayed_takes_the_terminal_and_pushes(libc, monkeypatch, platform, numbers):
    refusals = [errno.EPERM, errno.EPERM]
    fake = libc(ioctl=lambda *_: refused(refusals.pop()) if refusals else 0)
    for name in ("setsid", "closerange"):
        monkeypatch.setattr(os, name, lambda *_: None)
    reader, writer = os.pipe()
    load("tty_reacquire").wait(target(platform), writer)
    os.close(writer)
    assert os.read(reader, 9) == b"r"
    os.close(reader)
    assert fake.calls == [*[("ioctl", 0, numbers["TIOCSCTTY"], 0)] * 3, *pushes(numbers)]


def test_whoever_stayed_and_never_got_the_terminal_does_not_push(libc, monkeypatch):
    fake = libc(refuse=errno.EPERM)
    for name in ("setsid", "closerange", "write"):
        monkeypatch.setattr(os, name, lambda *_: None)
    monkeypatch.setattr(load("tty_reacquire"), "LONGEST", 0.02)
    load("tty_reacquire").wait(target(), -1)
    assert {call[2] for call in fake.calls} == {LINUX["TIOCSCTTY"]}


def test_force_is_asked_for_with_one(libc, monkeypatch):
    fake = libc()
    monkeypatch.setattr(os, "setsid", lambda: None)
    assert load("tty_reacquire").force(target()) == 0
    assert fake.calls == [("ioctl", 0, LINUX["TIOCSCTTY"], 1), *pushes(LINUX)]


@pytest.mark.parametrize(("waiting", "inside"), [(19, "19 bytes wait in the terminal shown inside"), (0, "")])
def test_what_was_forced_and_waits_in_the_terminal_shown_inside_is_told(libc, monkeypatch, waiting, inside):
    def ioctl(_, request, argument):
        if request == LINUX["FIONREAD"]:
            argument.value = waiting
        return 0

    libc(ioctl=ioctl)
    monkeypatch.setattr(os, "setsid", lambda: None)
    said, facts, steps = run("tty_reacquire", way="force")
    assert (said, facts["inside"], steps) == ("acted", inside, ["ioctl"])


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
    monkeypatch.setattr(
        load("left_daemon").time, "sleep", lambda _: log.replace(log.with_name("gone")).unlink()
    )
    beats = []
    monkeypatch.setattr(os, "write", lambda _, data: beats.append(data))
    load("left_daemon").beat(target(platform, log=str(log), how="setsid"))
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


@inside.LINUX
def test_constants_are_those_of_this_platform():
    assert {name: getattr(termios, name) for name in LINUX} == LINUX
