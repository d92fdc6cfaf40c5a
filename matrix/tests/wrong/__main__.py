"""A wrong proxy's process: python -m matrix.tests.wrong NAME FD, for the runner in the place of its own.

Without a name: what there is, and the rows that catch it.
"""

from __future__ import annotations

import sys

from matrix.tests.wrong.known import DOUBLES
from runners.tier1 import serve


def table() -> str:
    """Every wrong proxy with what it does and the rows that tell."""
    return "".join(
        f"{each.name}: {each.does}\n"
        + "".join(f"    {row} escapes\n" for row in each.escaped)
        + "".join(f"    {row} is over-refused\n" for row in each.refused)
        + "".join(f"    {row} fails\n" for row in each.failed)
        for each in DOUBLES.values()
    )


if __name__ == "__main__":
    if sys.argv[1:]:
        sys.exit(serve.main(sys.argv[2:], make=DOUBLES[sys.argv[1]].make))
    sys.stdout.write(table())
