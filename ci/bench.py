"""Times one run of the whole matrix, set-up aside: wall-clock seconds, cells, and the slowest columns.

python ci/bench.py [OPTION…]: options are those of `escape-matrix run`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

PROGRAM = Path(sys.executable).with_name("escape-matrix")


def main(options: list[str]) -> int:
    """Run once with the terminal's output thrown away, then say what it took."""
    with tempfile.TemporaryDirectory() as out:
        begun = time.monotonic()
        ran = subprocess.run([PROGRAM, "run", "--out", out, *options], check=False, stdout=subprocess.DEVNULL)
        seconds = time.monotonic() - begun
        report = Path(out, "report.jsonl")
        lines = [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []
    cells = [line for line in lines if line["kind"] == "cell"]
    if not cells:
        print(f"no cell was measured; the run ended with {ran.returncode}", file=sys.stderr)
        return ran.returncode or 1
    verdicts = Counter(cell["verdict"] for cell in cells)
    columns: Counter[str] = Counter()
    for cell in cells:
        columns[cell["backend"]] += cell["seconds"]
    print(f"{seconds:.1f} s for {len(cells)} cells, {1000 * seconds / len(cells):.0f} ms each")
    print(", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common()))
    for backend, spent in columns.most_common():
        print(f"{spent:8.1f} s  {backend}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
