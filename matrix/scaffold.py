"""New attacks, rows and columns: what is always the same is written, what only a person knows is marked.

Nothing is ever overwritten. What was written passes `escape-matrix check` once the marked places
are filled in, and not before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from matrix.errors import UsageError, WriteError
from matrix.model import Case, Table
from matrix.positions import Unreadable, read_json
from matrix.shape import near
from matrix.steps import FILL_IN, read

ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")

ATTACK = f'''"""{FILL_IN}: what it tries, in a sentence or two.

Source: {FILL_IN}.
"""


def attempt(target):
    """{FILL_IN}: which call's refusal is the sandbox's answer."""
    target.step("open")
    with open(target.path) as file:  # {FILL_IN}: the act itself; OSError means refused
        return file.read()  # {FILL_IN}: the trace it leaves, target.inside(trace) or target.absent(looked_at)
'''

COLUMN = f"""\
[{{id}}]
title = "{FILL_IN}: the sandbox and its configuration, in a few words"
runner = "command"
platforms = ["linux"]
# What its vendor says it closes (mechanisms or cases), and where. Without this line: every row.
claims = {{{{ closes = [], source = "{FILL_IN}: the page or man page that says so" }}}}
# {{{{workspace}}}} is the one directory to show, readable and writable; {{{{command}}}} is what to run.
options.argv = ["{FILL_IN}: the program", "{{{{workspace}}}}", "--", "{{{{command}}}}"]
"""


@dataclass(frozen=True, kw_only=True)
class Tree:
    """The source tree's folders that a scaffold writes to."""

    attacks: Path
    testdata: Path


def new_attack(tree: Tree, table: Table, id_: str, *, mechanism: str, witness: str) -> list[Path]:
    """An attack's file and its first row."""
    _free(id_, table)
    _known("mechanism", mechanism, [each.id for each in table.mechanisms])
    name = id_.replace("-", "_")
    row = _row(id_, mechanism=mechanism, attack=name, witness=witness, decisive="open")
    file = tree.attacks / f"{name}.py"
    _create(file, ATTACK)
    return [file, _add_row(tree, table, row)]


def new_case(tree: Tree, table: Table, id_: str, *, attack: str, mechanism: str, witness: str) -> list[Path]:
    """One more row for an attack: like its row of the nearest id, or, without one, as its file says."""
    _free(id_, table)
    _known("attack", attack, [path.stem for path in tree.attacks.glob("[a-z]*.py")])
    like = max(
        (case for case in table.cases if case.attack == attack),
        key=lambda case: SequenceMatcher(None, case.id, id_).ratio(),
        default=None,
    )
    if like is not None:
        row = _written(like) | {
            "id": id_,
            "title": f"{FILL_IN}: what is so when it gets out, unlike {like.id}",
        }
        row |= {"mechanism": mechanism} if mechanism else {}
        row |= {"witness": witness} if witness else {}
    elif mechanism and witness:
        steps = sorted(read((tree.attacks / f"{attack}.py").read_text(encoding="utf-8")).steps)
        decisive = steps[0] if steps else FILL_IN
        row = _row(id_, mechanism=mechanism, attack=attack, witness=witness, decisive=decisive)
    else:
        do = "give --mechanism and --witness"
        raise UsageError.one(f"the attack {attack!r} has no row yet to take them from", do, where="new case")
    _known("mechanism", row["mechanism"], [each.id for each in table.mechanisms])
    return [_add_row(tree, table, row)]


def new_backend(file: Path, taken: Iterable[str], id_: str) -> list[Path]:
    """A column for any program, at the end of a file that may be new."""
    _valid(id_)
    if id_ in taken:
        raise UsageError.one(f"there is a backend {id_!r} already", "take another id", where="new backend")
    if file.exists():
        _replace(file, file.read_text(encoding="utf-8").rstrip("\n") + "\n\n" + COLUMN.format(id=id_))
    else:
        _create(file, COLUMN.format(id=id_))
    return [file]


def _valid(id_: str) -> None:
    if not ID.fullmatch(id_):
        do = "use lower-case letters, digits and single hyphens"
        raise UsageError.one(f"{id_!r} is no id", do, where="new")


def _free(id_: str, table: Table) -> None:
    _valid(id_)
    rows: tuple[Any, ...] = (*table.cases, *table.untestable, *table.mechanisms)
    for row in rows:
        if row.id == id_:
            what = f"{id_!r} is taken by {row.source}"
            raise UsageError.one(what, "take another id", where="new")


def _known(kind: str, name: str, known: list[str]) -> None:
    if name not in known:
        raise UsageError.one(f"there is no {kind} {name!r}", near(name, known), where=f"--{kind}")


def _row(id_: str, **rest: str) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": id_,
        "title": f"{FILL_IN}: what is so when it gets out",
        "platforms": ["linux"],
    }
    return {**row, **rest, "sources": [f"{FILL_IN}: a CVE, a link, a man page or OWNER/REPOSITORY#NUMBER"]}


def _written(case: Case) -> dict[str, Any]:
    """A row as its file says it: without what is by default so."""
    row: dict[str, Any] = {}
    for each in fields(Case):
        value = getattr(case, each.name)
        default = each.default_factory() if each.default_factory is not MISSING else each.default
        if each.name != "source" and value != default:
            row[each.name] = value
    if case.channels:
        row["channels"] = sorted(case.channels)
    return row


def _add_row(tree: Tree, table: Table, row: Mapping[str, Any]) -> Path:
    """Put a row behind the last one of its mechanism's file; a mechanism's first row makes that file."""
    order = [each.name for each in fields(Case)]
    lines = [
        f"      {json.dumps(key)}: {json.dumps(row[key], ensure_ascii=False)}"
        for key in sorted(row, key=order.index)
    ]
    text = "    {\n" + ",\n".join(lines) + "\n    }"
    last = next((case for case in reversed(table.cases) if case.mechanism == row["mechanism"]), None)
    if last is None:
        return _new_section(tree, row["mechanism"], text)
    file = tree.testdata.parent / last.source.file
    content = file.read_text(encoding="utf-8")
    read_again = read_json(file, str(file))
    if isinstance(read_again, Unreadable):
        raise UsageError([read_again.problem])
    end = read_again[0]["cases"][-1].end
    _replace(file, content[:end] + ",\n" + text + content[end:])
    return file


def _new_section(tree: Tree, mechanism: str, row: str) -> Path:
    file = tree.testdata / "cases" / f"{mechanism}.json"
    head = '{\n  "$schema": "../egress-cases.schema.json",\n  "cases": [\n'
    _create(file, f"{head}{row}\n  ]\n}}\n")
    main = tree.testdata / "egress-cases.json"
    begin = re.compile(r'("include"\s*:\s*\[)(\s*)(\]?)')
    entry = json.dumps(f"cases/{mechanism}.json")
    text = begin.sub(
        lambda at: f"{at[1]}{at[2]}{entry}" + (at[3] or ", "), main.read_text(encoding="utf-8"), count=1
    )
    _replace(main, text)
    return file


def _create(file: Path, text: str) -> None:
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(text)
    except FileExistsError:
        raise UsageError.one("the file is there already", "take another id", where=str(file)) from None
    except OSError as error:
        raise WriteError.one(
            f"cannot be written: {error.strerror}", "see who may write there", where=str(file)
        ) from error


def _replace(file: Path, text: str) -> None:
    """The whole new text or the whole old one, whatever happens on the way."""
    beside = file.with_name(f".{file.name}.new")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(file)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise WriteError.one(
            f"cannot be written: {error.strerror}", "see who may write there", where=str(file)
        ) from error
