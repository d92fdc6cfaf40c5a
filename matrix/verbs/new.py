"""escape-matrix new: an attack, a row or a column to fill in."""

from __future__ import annotations

import argparse
from pathlib import Path

from matrix import locate, scaffold
from matrix.errors import UsageError
from matrix.load import load_table
from matrix.load_backends import load_backends
from matrix.material import shipped
from matrix.scaffold import Tree
from matrix.verbs import Verbs, parser

WHAT = """\
Write a new attack, row or column with the places to fill in marked. Nothing is ever overwritten,
and `escape-matrix check` names every place that is still marked. Attacks and rows are written to
the source tree that the command runs from; a column can be anywhere."""

EXAMPLE = """\
escape-matrix new attack proc-mounts --mechanism proc --witness file_read
escape-matrix new case lo-tcp4-hex --attack lo_tcp
escape-matrix new backend my-sandbox"""


def add(verbs: Verbs) -> None:
    """The verb `new`."""
    made = parser(verbs, "new", act, what=WHAT, example=EXAMPLE)
    made.add_argument("what", choices=("attack", "case", "backend"), help="what to write")
    made.add_argument("id", metavar="ID", help="its id: lower-case letters, digits, hyphens")
    made.add_argument(
        "--mechanism", default="", metavar="M", help="of a new row (see: escape-matrix list mechanisms)"
    )
    made.add_argument(
        "--witness", default="", metavar="W", help="of a new row: a file of matrix/witnesses/, without .py"
    )
    made.add_argument(
        "--attack", default="", metavar="A", help="for a new case: a file of attacks/, without .py"
    )
    made.add_argument(
        "--backends",
        type=Path,
        metavar="FILE",
        help="for a new backend: the TOML file to add it to (default: ID.toml, here)",
    )


def act(args: argparse.Namespace) -> int:
    """Write it and say what comes next."""
    written = _backend(args) if args.what == "backend" else _row(args)
    for path in written:
        print(f"wrote {path}")
    files = f" --backends {written[0]}" if args.what == "backend" else ""
    this = f"--backend {args.id}" if args.what == "backend" else f"--case {args.id}"
    steps = [
        f"write what belongs where it says {scaffold.FILL_IN}",
        f"escape-matrix check{files}",
        f"escape-matrix run{files} {this}",
    ]
    if args.what != "backend":
        steps.insert(2, f"escape-matrix run {this} --backend null    # no sandbox: it has to escape")
    print("next:", *(f"  {number}. {step}" for number, step in enumerate(steps, 1)), sep="\n")
    return 0


def _backend(args: argparse.Namespace) -> list[Path]:
    file = args.backends or Path(f"{args.id}.toml")
    taken = [backend.id for backend in load_backends(file)] if file.exists() else []
    return scaffold.new_backend(file, taken, args.id)


def _row(args: argparse.Namespace) -> list[Path]:
    if locate.testdata().name != "testdata":
        do = "clone the repository, and run it from there"
        raise UsageError.one("the installed product is no place for new attacks and rows", do)
    tree = Tree(attacks=locate.attacks(), testdata=locate.testdata())
    table = load_table(locate.table())  # as it is: another new row may still have places to fill in
    given = {"mechanism": args.mechanism, "witness": args.witness}
    witnesses = shipped(complete=True).witnesses
    if args.witness and args.witness not in witnesses:
        what, do = f"there is no witness {args.witness!r}", scaffold.near(args.witness, witnesses)
        raise UsageError.one(what, do, where="--witness")
    if args.what == "case":
        return scaffold.new_case(tree, table, args.id, attack=args.attack, **given)
    if not all(given.values()):
        what = "a new attack needs --mechanism and --witness"
        names = f"the mechanisms are {', '.join(each.id for each in table.mechanisms)}"
        do = f"{names}; the witnesses are {', '.join(sorted(witnesses))}"
        raise UsageError.one(what, do, where="new attack")
    return scaffold.new_attack(tree, table, args.id, **given)
