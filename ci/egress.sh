#!/bin/sh
# ci/egress.sh [OPTION…]: what `make e2e-egress` runs: every row about hosts, addresses and names, on no sandbox, on tier 1
# confined and not, and on the proxies found here; or on the columns that `--backend` names. Prints the matrix, writes
# out/egress/report.jsonl and ends with the gate's exit code. Options are those of `escape-matrix run`.
set -eu
cd "$(dirname "$0")/.."

ci/sandboxes.sh
[ -d "${ESCAPE_MATRIX_CLIENTS:-.clients}" ] || echo "note: rows that start real clients stay untested until \`make clients\` has installed them"
case " $* " in
*" --backend "* | *" --backend="*) ;;
*)
    set -- --backend null --backend tier1 --backend tier1-auto "$@"
    for proxy in $(.venv/bin/escape-matrix doctor | awk '$1 == "found" && $2 ~ /^(squid|tinyproxy|mitmproxy|srt)$/ { print $2 }'); do
        set -- "$@" --backend "$proxy"
    done
    ;;
esac
exec .venv/bin/escape-matrix run --mechanism egress --mechanism private-network --mechanism name-resolution --out out/egress "$@"
