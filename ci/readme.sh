#!/bin/sh
# ci/readme.sh matrix|egress [OPTION…]: runs the matrix, or its rows about egress, and writes it into README.md. Options
# are those of `escape-matrix run`.
# Whatever the gate says of the run, its table is written: the README shows what is, not what should be.
set -eu
cd "$(dirname "$0")/.."
what=$1
shift

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
trap 'exit 130' INT TERM
code=0
case $what in
matrix) .venv/bin/escape-matrix run "$@" --out "$out" || code=$? ;;
*) ci/egress.sh "$@" --out "$out" || code=$? ;;
esac
[ -s "$out/report.jsonl" ] || exit "$code"
write() { .venv/bin/escape-matrix report "$out/report.jsonl" --format markdown-table --into README.md "$@"; }
write --name "$what"
[ "$what" = matrix ] && exit

# One by one those that tell the proxies apart, and what each of them is about.
set --
for row in basic-connect-unlisted private-name-manifest-10-8 special-manifest-loop4 special-manifest-meta4 \
    dns-mixed-public-private private-literal-manifest-run mm-sni-other client-curl-fronting mm-cl-te \
    live-open-tunnel refusal-class-http; do
    set -- "$@" --case "$row"
done
write --name telling "$@"
