"""What a person types: lists from files, questions about them, and what is said when nothing can start."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

import pytest

from runners.contract import Denial, Missing
from runners.tier1 import door
from runners.tier1.__main__ import main
from runners.tier1.runner import Runner

REFUSED = Denial(kind="unlisted", host="a.b.test", port=443, remedy=("manifest", "tenant"))
PRIVATE = Denial(kind="private", host="wiki.test", port=443, address_class="private", remedy=("tenant",))


def test_a_list_is_a_file_with_comments(tmp_path: Path) -> None:
    file = tmp_path / "egress.txt"
    file.write_text("# ours\napi.test\n\n  *.cdn.test  # mirrors\n")
    assert door.entries(file, ["more.test"]) == ("api.test", "*.cdn.test", "more.test")
    assert door.entries(None) == ()


@pytest.mark.parametrize("end", ["\v", "\f", "\r", "\x1c", "\x85", "\u2028", "\u2029"])
def test_what_no_reader_of_the_file_sees_as_a_new_line_begins_no_entry(end: str, tmp_path: Path) -> None:
    file = tmp_path / "egress.txt"
    file.write_bytes(f"# ours{end}*.evil.test\r\napi.test{end}*.evil.test\r\n".encode())
    [entry] = door.entries(file)
    assert "*.evil.test" in entry
    assert main(["lint", str(file)]) == door.FAULTS


def test_records_go_to_the_file_that_was_there_before(tmp_path: Path) -> None:
    with door._opened(tmp_path / "refused") as file:
        assert file
        (tmp_path / "refused").rename(tmp_path / "moved")
        (tmp_path / "refused").symlink_to(tmp_path / "victim")
        file.write("line\n")
    assert (tmp_path / "moved").read_text() == "line\n"
    assert not (tmp_path / "victim").exists()


def test_records_go_to_no_link_and_wait_at_no_pipe(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe"):
        with pytest.raises(OSError, match=name), door._opened(tmp_path / name):
            pass
    assert not (tmp_path / "victim").exists()


def test_lists_and_records_in_the_workspace_are_protected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[door.Asked] = []
    monkeypatch.setattr(door, "run", lambda each: asked.append(each) or 0)
    (tmp_path / "ws").mkdir()
    (tmp_path / "to").symlink_to("ws")
    for name in ("ws/own", "theirs"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    main(["run", "--workspace=ws", "--manifest=ws/own", "--tenant=theirs", "--records=to/refused", "--", "x"])
    assert asked[0].policy.protected == (tmp_path / "ws/own", tmp_path / "ws/refused")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("10.0.0.1", ("10.0.0.1", 53)),
        ("10.0.0.1:5353", ("10.0.0.1", 5353)),
        ("fd00::1", ("fd00::1", 53)),
        ("[fd00::1]:5353", ("fd00::1", 5353)),
    ],
)
def test_a_resolver_is_an_address_perhaps_with_a_port(text: str, found: tuple[str, int]) -> None:
    assert door.resolver(text) == found


def test_variables_are_a_few_of_ours_what_is_set_and_what_is_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", "1")
    monkeypatch.setenv("SECRET", "1")
    monkeypatch.setenv("TERM", "xterm")
    given = door.environment(["A=b=c", "LANG=de"], ["MINE", "ABSENT"])
    assert {name: given[name] for name in ("A", "LANG", "MINE", "TERM")} == {
        "A": "b=c",
        "LANG": "de",
        "MINE": "1",
        "TERM": "xterm",
    }
    assert given.keys() == {"PATH", "HOME", "LANG", "TERM", "MINE", "A"}


def test_records_teach_the_entries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = tmp_path / "refused.jsonl"
    records.write_text("".join(json.dumps(asdict(each)) + "\n" for each in (REFUSED, PRIVATE)))
    assert main(["learn", str(records)]) == 0
    assert capsys.readouterr().out == "a.b.test\tmanifest or tenant\nwiki.test\ttenant\n"


@pytest.mark.parametrize("text", ["no json", '{"kind": "unlisted"}', "[]"])
def test_a_file_without_records_is_told(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "records").write_text(text)
    assert main(["learn", str(tmp_path / "records")]) == door.CANNOT
    assert "holds no records" in capsys.readouterr().err


def test_lint_says_what_is_wrong_and_with_which_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "fine").write_text("api.test\n")
    (tmp_path / "wrong").write_text("10.1.2.3\nhttps://api.test/\n")
    assert main(["lint", str(tmp_path / "fine"), "--tenant-allow", "10.0.0.0/8"]) == 0
    assert "2 entries" in capsys.readouterr().out
    assert main(["lint", str(tmp_path / "wrong")]) == door.FAULTS
    said = capsys.readouterr().err
    assert "10.1.2.3" in said
    assert "https://api.test/" in said


def test_a_list_that_is_wrong_starts_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--allow", "10.1.2.3", "--", "true"]) == door.FAULTS
    assert "10.1.2.3" in capsys.readouterr().err


def test_what_is_missing_is_told_with_what_brings_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Runner, "find", lambda *_: Missing("nothing here", "apt-get install it"))
    assert main(["run", "--", "true"]) == door.CANNOT
    assert "nothing here; apt-get install it" in capsys.readouterr().err


@pytest.mark.parametrize(
    "argv", [[], ["run"], ["run", "--"], ["lint", "--", "x"], ["run", "--set", "x", "--", "x"]]
)
def test_wrong_usage_is_told(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(argv)
    assert "usage:" in capsys.readouterr().err


def test_what_is_behind_the_dashes_is_the_command_s(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[door.Asked] = []
    monkeypatch.setattr(door, "run", lambda each: asked.append(each) or 0)
    assert main(["run", "--hide", "key", "--allow", "api.test", "--", "git", "log", "--", "--hide"]) == 0
    [found] = asked
    assert found.command == ("git", "log", "--", "--hide")
    assert found.policy.hidden == (Path.cwd() / "key",)
    assert found.policy.egress is not None
    assert found.policy.egress.manifest == ("api.test",)


def test_without_a_list_there_is_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[door.Asked] = []
    monkeypatch.setattr(door, "run", lambda each: asked.append(each) or 0)
    main(["run", "--", "true"])
    assert asked[0].policy.egress is None


def test_a_platform_without_it_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert main(["run", "--", "true"]) == door.FAULTS
    assert "runs on Linux" in capsys.readouterr().err
