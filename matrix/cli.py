"""The command line: finds the verb, does it, and says what went wrong, in one line each and an exit code."""

from __future__ import annotations

import argparse
import errno
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import Any

from matrix import verbs
from matrix.errors import Code, Trouble
from matrix.version import VERSION

CODES = """\
exit codes, the first that applies:
    2  wrong usage: an option or a name that does not exist
   13  bad data, or a gap in the table
   17  a report cannot be read
   16  something cannot be written
   14  the report is incomplete
   10  something claimed or expected held has escaped
   12  an expectation is expired or stale
   11  something that had to be tested is not
   15  nothing was run
    0  clean
  130  interrupted"""


OUTPUT_GONE = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EIO}
"""What a verb's own files raise as a WriteError; so here it is about standard output."""


def build() -> argparse.ArgumentParser:
    """The parser with all verbs."""
    parser = argparse.ArgumentParser(
        prog="escape-matrix",
        description="For every way out and every sandbox: held, escaped or untested, each proved.",
        epilog=CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {VERSION}")
    found = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for name in verbs.names():
        importlib.import_module(f"matrix.verbs.{name}").add(found)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; the exit code."""
    output: Any = sys.stdout
    if isinstance(output, io.TextIOWrapper):  # where only ASCII can be written, escapes are
        output.reconfigure(errors="backslashreplace")
    try:
        parsed = build().parse_args(arguments)
        code = int(parsed.act(parsed))
        output.flush()
    except Trouble as trouble:
        print(trouble, file=sys.stderr)
        return trouble.code
    except KeyboardInterrupt:
        print("escape-matrix: interrupted", file=sys.stderr)
        return Code.INTERRUPTED
    except OSError as error:
        if error.errno not in OUTPUT_GONE:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python must not try once more at its end
        print(f"escape-matrix: the output cannot be written: {error.strerror}", file=sys.stderr)
        return Code.CANNOT_WRITE
    return code
