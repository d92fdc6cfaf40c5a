#!/bin/sh
# ci/venv.sh LOCK: makes .venv where it is missing or cannot run here, installs the locked packages
# (wheels only, each by its hash) and the project itself as this checkout.
set -eu
cd "$(dirname "$0")/.."
lock=$1

if ! .venv/bin/python -c 'import pip' 2>/dev/null; then
    if ! python=$(ci/python.sh 2>/dev/null); then
        ci/packages.sh python3-venv # Debian and Ubuntu leave it out of python3
        python=$(ci/python.sh)
    fi
    rm -rf .venv
    "$python" -m venv .venv
fi

echo ".venv: $(.venv/bin/python -V), installing $lock"
pip() { .venv/bin/python -m pip --quiet --quiet --disable-pip-version-check --no-input "$@"; }
pip install --require-hashes --only-binary :all: -r "$lock"
pip install --no-deps --no-build-isolation -e .
