"""The command line's own promises: verbs, exit codes, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from matrix import cli, verbs
from matrix.errors import Code, Problem, Trouble, UsageError
from matrix.model import Source

PROGRAM = [sys.executable, "-c", "import sys; from matrix.cli import main; sys.exit(main())"]


def main(*arguments: str) -> int:
    """The exit code, also where argparse ends the program itself."""
    try:
        return cli.main(arguments)
    except SystemExit as ended:
        return int(str(ended.code))


@pytest.mark.parametrize("name", verbs.names())
def test_every_verb_says_what_it_does_with_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([name, "--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert f"\n  escape-matrix {name}" in said or f"\n  sudo escape-matrix {name}" in said


def test_the_fixed_verbs_are_there() -> None:
    assert {"run", "list", "explain", "doctor", "check", "new", "report", "gate", "schema"} <= set(
        verbs.names()
    )


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], Code.USAGE),
        (["no-such-verb"], Code.USAGE),
        (["list", "nothing"], Code.USAGE),
        (["list", "cases", "--cases", "no-such-file.json"], Code.DATA),
        (["list", "backends", "--backends", "no-such-file.toml"], Code.DATA),
        (["run", "--plan", "--backend", "bubblewarp"], Code.USAGE),
        (["run", "--plan", "--case", "lo-tcp44"], Code.USAGE),
        (["run", "--plan", "--mechanism", "lopback"], Code.USAGE),
        (["run", "--repeat", "0"], Code.USAGE),
        (["list", "mechanisms"], Code.CLEAN),
    ],
)
def test_exit_codes(
    arguments: list[str],
    code: Code,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(*arguments) == code
    assert bool(capsys.readouterr().err) is (code is not Code.CLEAN)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("option", "wrong", "right"),
    [
        ("--backend", "bubblewarp", "bubblewrap"),
        ("--mechanism", "lopback", "loopback"),
        ("--case", "lo-tcp44", "lo-tcp4"),
    ],
)
def test_an_unknown_name_is_told_its_nearest(
    option: str, wrong: str, right: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main("run", "--plan", option, wrong) == Code.USAGE
    said = capsys.readouterr().err
    assert wrong in said
    assert right in said


def test_unknown_names_are_all_told_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main("run", "--plan", "--backend", "bubblewarp", "--mechanism", "lopback", "--case", "x")
        == Code.USAGE
    )
    assert len(capsys.readouterr().err.splitlines()) == 3


def test_a_claim_that_names_nothing_stops_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Else a slip of the pen would turn every escape of the column into one that nobody claimed."""
    file = tmp_path / "mine.toml"
    column = '[mine]\ntitle = "x"\nrunner = "command"\nplatforms = ["linux"]\noptions.argv = ["{command}"]\n'
    file.write_text(column + 'claims = ["filesytem-write"]\n')
    assert main("run", "--plan", "--backends", str(file)) == Code.DATA
    assert "did you mean filesystem-write" in capsys.readouterr().err


def list_cases(folder: Path, output: IO[str]) -> subprocess.CompletedProcess[str]:
    """`list cases` in a process of its own, printed to where it may not arrive."""
    program = "import sys; from matrix.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "list", "cases"]
    return subprocess.run(command, cwd=folder, stdout=output, stderr=subprocess.PIPE, text=True, check=False)


def test_output_that_cannot_be_written_is_no_success(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as nobody:
        done = list_cases(tmp_path, nobody)
    assert done.returncode == Code.CANNOT_WRITE
    assert "Traceback" not in done.stderr


def test_a_full_disk_behind_the_output_is_told(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this machine to stand for a full disk")
    with Path("/dev/full").open("w") as full:
        done = list_cases(tmp_path, full)
    assert done.returncode == Code.CANNOT_WRITE
    assert "Traceback" not in done.stderr


def test_a_terminal_that_knows_only_ascii_gets_every_line(tmp_path: Path) -> None:
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [*PROGRAM, "list", "cases"],
        cwd=tmp_path,
        env=environment,
        text=True,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_message_is_one_line_whatever_it_quotes() -> None:
    problem = Problem(
        kind="x", where=Source(file="a\nb", line=3), id="\x1b[31m", what="wrong", do="put it right"
    )
    assert str(problem) == r"a\nb:3: \x1b[31m: wrong; put it right"


def test_every_exit_code_that_is_a_mistake_has_a_class() -> None:
    found = [kind.code for kind in Trouble.__subclasses__()]
    assert sorted(found) == sorted({*found})
    assert {Code.USAGE, Code.DATA, Code.CANNOT_WRITE, Code.UNREADABLE} <= set(found)
    assert UsageError.one("x", "y").problems[0].do == "y"
