"""Runs the matrix and writes it into README.md, between the two markers.

python ci/readme.py [OPTION…]: options are those of `escape-matrix run`. Whatever the gate says of the run is
printed; the table is written all the same, for the README shows what is, not what should be.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
PROGRAM = Path(sys.executable).with_name("escape-matrix")
BEGIN, END = "<!-- matrix: written by make readme -->", "<!-- matrix: end -->"
NO_MATRIX = {2, 13, 16, 17, 130}  # exit codes after which there is no report worth showing


def main(options: list[str]) -> int:
    """Run, render, replace what stands between the markers."""
    before, begin, rest = README.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        print(
            f"README.md: the markers {BEGIN} and {END} must both be there; nothing was run", file=sys.stderr
        )
        return 1
    with tempfile.TemporaryDirectory() as out:
        ran = subprocess.run([PROGRAM, "run", "--out", out, *options], check=False)
        if ran.returncode in NO_MATRIX:
            return ran.returncode
        report = [PROGRAM, "report", f"{out}/report.jsonl", "--format", "markdown"]
        table = subprocess.run(report, check=True, capture_output=True, text=True).stdout
    README.write_text(f"{before}{BEGIN}\n\n{table.strip()}\n\n{END}{after}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
