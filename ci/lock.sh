#!/bin/sh
# Writes requirements.lock (what a run needs) and requirements-dev.lock (that and the tools of this
# repository), for every Python and platform that pyproject.toml names, with the hashes of all files.
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
    "$tool/bin/uv" pip compile pyproject.toml --quiet --universal --python-version 3.11 --upgrade \
        --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
        --extra all --group build "$@" --output-file "$tool/$out"
    if grep -nE '://|^ *--(index|extra-index|find-links|trusted)|^-[if] ' "$tool/$out"; then
        echo "ci/lock.sh: $out names an index or an address, see the lines above; nothing was written" >&2
        exit 1
    fi
    mv "$tool/$out" "$out"
    echo "$out: $(grep -c '==' "$out") packages"
}

compile requirements.lock
compile requirements-dev.lock --group dev --constraint requirements.lock
