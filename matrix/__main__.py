"""python -m matrix: the command line, also where no script is installed."""

from __future__ import annotations

import sys

from matrix.cli import main

if __name__ == "__main__":
    sys.exit(main())
