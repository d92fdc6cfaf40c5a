"""A wrong proxy's process: python -m matrix.tests.wrong NAME FD, for the runner in the place of its own."""

from __future__ import annotations

import sys

from matrix.tests.wrong.known import DOUBLES
from runners.tier1 import serve

if __name__ == "__main__":
    sys.exit(serve.main(sys.argv[2:], make=DOUBLES[sys.argv[1]].make))
