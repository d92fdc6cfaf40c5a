#!/bin/sh
# Writes requirements.lock (what a run needs), requirements-dev.lock (that and the tools of this repository)
# ci/clients/*.lock (the clients that rows start, a lock for each group `client-*`) and ci/proxies/mitmproxy.lock,
# for every Python and platform that pyproject.toml names, with the hashes of all files.
# A lock names packages and hashes only: no index, no host.
set -eu
cd "$(dirname "$0")/.."

tool=$(mktemp -d)
trap 'rm -rf "$tool"' EXIT INT TERM
"$(ci/python.sh)" -m venv "$tool"
"$tool/bin/python" -m pip install --quiet --quiet --disable-pip-version-check 'uv==0.13.9'

compile() {
    out=$1
    shift
    "$tool/bin/uv" pip compile "$@" --quiet --universal --python-version 3.11 --upgrade \
        --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
        --output-file "$tool/new.lock"
    if grep -nE '://|^ *--(index|extra-index|find-links|trusted)|^-[if] ' "$tool/new.lock"; then
        echo "ci/lock.sh: $out names an index or an address, see the lines above; nothing was written" >&2
        exit 1
    fi
    mv "$tool/new.lock" "$out"
    echo "$out: $(grep -c '==' "$out") packages"
}

[ $# -gt 0 ] || {
    compile requirements.lock pyproject.toml --extra all --group build
    compile requirements-dev.lock pyproject.toml --extra all --group build --group dev --constraint requirements.lock
}
[ "${1:-clients}" != clients ] ||
    for client in python node24 node20 go; do compile "ci/clients/$client.lock" --group "client-$client"; done
[ "${1:-proxies}" != proxies ] || compile ci/proxies/mitmproxy.lock --group proxy-mitmproxy
