"""What no other tool of `make check` looks at: sizes, names, words, and what an attack may import.

python ci/tidy.py [FOLDER]: prints one line per fault of the files that git knows there; exit code 1 if any.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

FILE_LINES = 300
FUNCTION_LINES = 40
BESIDE_ATTACKS = {"launcher", "syscalls"}  # the only two files that attacks share
VAGUE = re.compile(r"(^|_)(utils?|helpers?|managers?)($|_)|^base_")
LEFT_OPEN = re.compile(r"\b(T[O]DO|F[I]XME|X[X]X|H[A]CK)\b")  # spelled so that it does not find itself
ADDRESS = re.compile(r"://|^\s*(--(index|extra-index|find-links|trusted)|-[if]\s)", re.MULTILINE)


def main(root: Path) -> int:
    """Print the faults below `root` and say by the exit code whether there were any."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    faults = [
        f"{name}{fault}"
        for name in sorted(filter(None, names.split("\0")))
        if (root / name).is_file()
        for fault in look(Path(name), root)
    ]
    print("\n".join(faults) or "tidy")
    return 1 if faults else 0


def look(name: Path, root: Path) -> Iterator[str]:
    """Every fault of one file, as what follows its name."""
    try:
        text = (root / name).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return  # not text: none of this is about it
    checkout = root.resolve()
    if len(checkout.parts) > 2 and str(checkout) in text:  # noqa: PLR2004 -- a shorter one may be any path
        yield ": names the folder of this checkout; use a path relative to the repository"
    if name.suffix == ".lock" and (found := ADDRESS.search(text)):
        yield f"{line(text, found)}: a lock names packages and hashes only; run make lock"
    if name.suffix not in {".py", ".sh", ".toml", ".yml"}:
        return
    if VAGUE.search(name.stem):
        yield ": a name that says nothing; name it after what it is about"
    if found := LEFT_OPEN.search(text):
        yield f"{line(text, found)}: {found[0]} left in; do it or drop it"
    if name.suffix == ".py":
        yield from code(name, text)


def code(name: Path, text: str) -> Iterator[str]:
    """The faults of one Python file."""
    count = text.count("\n")
    if count > FILE_LINES:
        yield f": {count} lines, {FILE_LINES} at most; split it"
    attack = name.parent == Path("attacks")
    try:
        tree = ast.parse(text, feature_version=(3, 8) if attack else None)
    except SyntaxError as error:
        yield f":{error.lineno}: not Python{' 3.8' if attack else ''}: {error.msg}"
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                yield f":{node.lineno}: {node.name} has {length} lines, {FUNCTION_LINES} at most"
        for module in imported(node) if attack else ():
            if module not in sys.stdlib_module_names | BESIDE_ATTACKS:
                yield f":{node.lineno}: imports {module}; an attack has the standard library only"


def imported(node: ast.AST) -> Iterator[str]:
    """The top-level names that one statement imports; `.` for a relative import."""
    match node:
        case ast.Import(names=names):
            yield from (name.name.partition(".")[0] for name in names)
        case ast.ImportFrom(module=module, level=0):
            yield str(module).partition(".")[0]
        case ast.ImportFrom():
            yield "."
        case _:
            return


def line(text: str, found: re.Match[str]) -> str:
    """Where in the file it stands, as `:LINE`."""
    return f":{text.count(chr(10), 0, found.start()) + 1}"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
