"""The verbs of the command line: one file, one verb.

A verb's module has `add(verbs)`, which adds its parser with `parser(…)` below, and the function
that does it, from the parsed arguments to an exit code. Whatever a person can get wrong is raised
as one of matrix.errors; the command line prints it and ends with its code.
"""

from __future__ import annotations

import argparse
import pkgutil
import textwrap
from collections.abc import Callable
from typing import Any, Protocol

ORDER = (
    "run",
    "list",
    "explain",
    "doctor",
    "check",
    "new",
    "report",
    "gate",
    "merge",
    "diff",
    "verify",
    "schema",
)
"""The order of the help; a verb that is not named here comes last."""

SHARED = {"options"}
"""Files of this folder that are no verb."""

Act = Callable[[argparse.Namespace], int]


class Verbs(Protocol):
    """What argparse gives for adding verbs to."""

    def add_parser(self, name: str, **kwargs: Any) -> argparse.ArgumentParser:
        """A parser for one more verb."""
        ...


def names() -> list[str]:
    """Every verb: the files of this folder, in the order of the help."""
    found = {module.name for module in pkgutil.iter_modules(__path__)} - SHARED
    return sorted(found, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))


def parser(verbs: Verbs, name: str, act: Act, *, what: str, example: str) -> argparse.ArgumentParser:
    """A verb's parser. `what` opens with one sentence for the list of verbs; `example` is shown below."""
    made = verbs.add_parser(
        name,
        help=what.split(". ", maxsplit=1)[0].rstrip("."),
        description=textwrap.dedent(what),
        epilog="example"
        + ("s" if "\n" in example.strip() else "")
        + ":\n"
        + textwrap.indent(example.strip(), "  "),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.set_defaults(act=act)
    return made
