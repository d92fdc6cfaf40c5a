"""Files of expectations: what is read, and every mistake in one told at once."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from matrix import locate
from matrix.errors import Code, DataError
from matrix.load_expectations import SCHEMA, load_expectations
from matrix.model import Reason
from matrix.positions import read_json

GOOD = """
[terminal-as-user]
match = { case = "tty-*", backend = "bubblewrap", identity = "user" }
expect = "held"
accept = ["no channel"]
reason = "--new-session is what this column is for"
owner = "sandbox team"

[tiocsti-as-root]
match.case = "tty-tiocsti"
match.identity = "root"
expect = "escaped"
reason = "uid 0 with CAP_SYS_ADMIN may do it on any terminal"
owner = "sandbox team"
issue = "https://example.org/1"
expires = 2027-01-31
"""


def test_entries_are_read_in_their_order_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "expect.toml"
    path.write_text(GOOD)
    first, second = load_expectations(path)
    assert first.id == "terminal-as-user"
    assert first.accept == {Reason.NO_CHANNEL}
    assert str(first.match) == "case=tty-* backend=bubblewrap identity=user"
    assert second.expires == date(2027, 1, 31)
    assert second.source.line == 9


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('case = "tty-*"', 'csae = "tty-*"', "did you mean case"),
        ('expect = "held"', 'expect = "hold"', "did you mean held"),
        ('expect = "held"', 'expect = "untested"', "accept"),
        ('owner = "sandbox team"\n\n', "\n", "no 'owner'"),
        ('identity = "user"', 'identity = "usr"', "did you mean user"),
        (
            'match = { case = "tty-*", backend = "bubblewrap", identity = "user" }',
            "match = {}",
            "match is empty",
        ),
        ("2027-01-31", '"2027-02-31"', "no day"),
        ("2027-01-31", "2027-01-31T00:00:00Z", "expires is"),
        ('accept = ["no channel"]', 'accept = ["fault"]', "fault"),
        ("[tiocsti-as-root]", "[Tiocsti]", "lower-case"),
        ("[tiocsti-as-root]", "[terminal-as-user]", "expect.toml"),
        (GOOD, "entry = 1", "entry"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, old: str, new: str, says: str) -> None:
    path = tmp_path / "expect.toml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(DataError, match=says) as caught:
        load_expectations(path)
    assert caught.value.code is Code.DATA
    assert all(problem.where.file.endswith("expect.toml") for problem in caught.value.problems)


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "expect.toml"
    path.write_text(GOOD.replace("owner", "woner"))
    with pytest.raises(DataError) as caught:
        load_expectations(path)
    assert {problem.id for problem in caught.value.problems} == {"terminal-as-user", "tiocsti-as-root"}


def test_the_schema_is_one_and_names_the_same_reasons() -> None:
    read = read_json(locate.testdata() / SCHEMA, SCHEMA)
    assert isinstance(read, tuple)
    schema = read[0]
    Draft202012Validator.check_schema(schema)
    named = schema["$defs"]["entry"]["properties"]["accept"]["items"]["enum"]
    assert set(named) == {reason.value for reason in Reason if reason.kind == "structural"}
