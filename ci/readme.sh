#!/bin/sh
# ci/readme.sh [OPTION…]: runs the matrix and writes it into README.md. Options are those of `escape-matrix run`.
# Whatever the gate says of the run, its table is written: the README shows what is, not what should be.
set -eu
cd "$(dirname "$0")/.."

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
trap 'exit 130' INT TERM
code=0
.venv/bin/escape-matrix run "$@" --out "$out" || code=$?
[ -s "$out/report.jsonl" ] || exit "$code"
.venv/bin/escape-matrix report "$out/report.jsonl" --format markdown-table --into README.md
