#!/bin/sh
# ci/e2e.sh [OPTION…]: what `make e2e-sandbox` runs. Installs what is missing, runs every row under every
# sandbox found, prints the matrix, writes out/report.jsonl and ends with the gate's exit code.
# Options are those of `escape-matrix run`; they come last, so that `--out DIR` here wins.
set -eu
cd "$(dirname "$0")/.."

ci/sandboxes.sh
[ -d "${ESCAPE_MATRIX_CLIENTS:-.clients}" ] || echo "note: rows that start real clients stay untested until \`make clients\` has installed them"
exec .venv/bin/escape-matrix run --out out "$@"
