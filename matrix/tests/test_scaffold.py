"""What a scaffold writes passes the checks when its places are filled in, and not before."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from matrix import cli, locate, steps
from matrix.coverage import Shipped, broken, column_gaps, gaps
from matrix.errors import Code, UsageError
from matrix.load import load_table
from matrix.load_backends import load_backends
from matrix.scaffold import Tree, new_attack, new_backend, new_case
from matrix.steps import FILL_IN

GOOD = locate.testdata() / "bad_rows" / "good" / "table.json"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A source tree with one attack and the corpus's good table."""
    made = Tree(attacks=tmp_path / "attacks", testdata=tmp_path / "testdata")
    made.attacks.mkdir()
    (made.testdata / "cases").mkdir(parents=True)
    shutil.copy(locate.attacks() / "lo_tcp.py", made.attacks)
    shutil.copy(GOOD, made.testdata / "egress-cases.json")
    return made


def kinds(tree: Tree) -> list[str]:
    found = load_table(tree.testdata / "egress-cases.json")
    attacks = {path.stem: steps.read(path.read_text()) for path in tree.attacks.glob("*.py")}
    shipped = Shipped(attacks=attacks, witnesses=frozenset({"tcp", "read"}), complete=True)
    return sorted({problem.kind for problem in (*broken(found, shipped), *gaps(found, shipped))})


def fill_in(*files: Path) -> None:
    """What a person does, with no great care."""
    for file in files:
        file.write_text(file.read_text().replace(FILL_IN, "Something true"))


def test_a_new_attack(tree: Tree) -> None:
    table = load_table(tree.testdata / "egress-cases.json")
    assert kinds(tree) == []
    written = new_attack(tree, table, "lo-new", mechanism="loopback", witness="read")
    assert written == [tree.attacks / "lo_new.py", tree.testdata / "egress-cases.json"]
    assert kinds(tree) == ["bad-attack", "not-filled-in"]
    fill_in(*written)
    assert kinds(tree) == []
    cases = load_table(tree.testdata / "egress-cases.json").cases
    assert [case.id for case in cases] == ["good", "bad", "lo-new"]


def test_a_new_case_is_like_the_one_of_its_attack_with_the_nearest_name(tree: Tree) -> None:
    table = load_table(tree.testdata / "egress-cases.json")
    good = next(case for case in table.cases if case.id == "good")
    others = [replace(good, id=name, args={"address": "::1"}) for name in ("a-first", "z-last")]
    table = replace(table, cases=(others[0], *table.cases, others[1]))
    written = new_case(tree, table, "good-again", attack="lo_tcp", mechanism="", witness="")
    assert kinds(tree) == ["not-filled-in"]
    fill_in(*written)
    assert kinds(tree) == []
    case = load_table(tree.testdata / "egress-cases.json").cases[-1]
    assert (case.args, case.plant, case.decisive) == (good.args, good.plant, good.decisive)


def test_the_first_row_of_a_mechanism_makes_its_file(tree: Tree) -> None:
    main = tree.testdata / "egress-cases.json"
    text = main.read_text()
    mechanism = (
        '"mechanisms": [\n    {"id": "new", "title": "x", "why": "x", "platforms": ["linux", "windows"], '
    )
    text = text.replace('"mechanisms": [', mechanism + '"references": ["x"]},', 1)
    main.write_text(
        text.replace('"mechanisms": [\n        "loopback"', '"mechanisms": ["new",\n        "loopback"')
    )
    assert kinds(tree) == ["platform-without-row"]
    attack, section = new_attack(tree, load_table(main), "a-new", mechanism="new", witness="tcp")
    assert section == tree.testdata / "cases" / "new.json"
    fill_in(attack, section)
    assert kinds(tree) == []


def test_nothing_is_overwritten(tree: Tree) -> None:
    table = load_table(tree.testdata / "egress-cases.json")
    before = {path: path.read_bytes() for path in tree.attacks.parent.rglob("*") if path.is_file()}
    for id_ in ("lo-tcp", "good", "loopback", "windows", "Not-An-Id"):
        with pytest.raises(UsageError):
            new_attack(tree, table, id_, mechanism="loopback", witness="tcp")
    with pytest.raises(UsageError, match="did you mean loopback"):
        new_attack(tree, table, "fresh", mechanism="lopback", witness="tcp")
    with pytest.raises(UsageError, match="did you mean lo_tcp"):
        new_case(tree, table, "fresh", attack="lo_tpc", mechanism="", witness="")
    assert {path: path.read_bytes() for path in tree.attacks.parent.rglob("*") if path.is_file()} == before


def test_a_new_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["new", "backend", "my-box"]) == 0
    assert "escape-matrix run --backends my-box.toml --backend my-box" in capsys.readouterr().out
    file = tmp_path / "my-box.toml"
    table = load_table(GOOD)
    assert [problem.kind for problem in column_gaps(table, load_backends(file))] == ["not-filled-in"]
    assert cli.main(["new", "backend", "my-box"]) == Code.USAGE
    assert cli.main(["new", "backend", "other", "--backends", "my-box.toml"]) == 0
    fill_in(file)
    columns = load_backends(file)
    assert [column.id for column in columns] == ["my-box", "other"]
    assert column_gaps(table, columns) == ()


def test_a_column_that_cannot_be_written_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "no-such-folder" / "x.toml"
    assert cli.main(["new", "backend", "x", "--backends", str(file)]) == Code.CANNOT_WRITE
    assert str(file) in capsys.readouterr().err


def test_an_id_is_an_id(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        new_backend(tmp_path / "x.toml", [], "a/../b")
    assert list(tmp_path.iterdir()) == []
