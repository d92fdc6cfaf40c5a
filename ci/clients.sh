#!/bin/sh
# ci/clients.sh: installs the client programs that rows start: packages of the system, and into .clients
# (or $ESCAPE_MATRIX_CLIENTS) what the locks in ci/clients/ name, each by its hash, for the Python that
# attacks run on. What is there already is left alone. Exit code 1 if anything could not be had.
set -u
cd "$(dirname "$0")/.."
into=${ESCAPE_MATRIX_CLIENTS:-$PWD/.clients}
python=/usr/bin/python3
[ -x "$python" ] || python=.venv/bin/python
version=$("$python" -I -c 'import sys; print("%d.%d" % sys.version_info[:2])') || exit 1
umask 022
mkdir -p "$into" && new=$(mktemp -d "$into/.new-XXXXXX") || exit 1
trap 'rm -rf "$new"' EXIT INT TERM
missing=0

set --
for program in curl wget git openssl; do
    command -v "$program" >/dev/null 2>&1 || set -- "$@" "$program"
done
[ $# -eq 0 ] || ci/packages.sh "$@"

unpack() { # LOCK: into $new, wheels only
    .venv/bin/python -m pip --quiet --quiet --disable-pip-version-check --no-input install --require-hashes \
        --only-binary :all: --python-version "$version" --target "$new" -r "$1"
}

build() { # keeps of a Go toolchain only the program it makes; it asks nobody for anything
    go=$(find "$new" -path '*/bin/go' -type f | head -n 1)
    [ -n "$go" ] && env CGO_ENABLED=0 GOTOOLCHAIN=local GOPROXY=off GOTELEMETRY=off GOCACHE="$new/cache" GOPATH="$new/path" \
        GOENV=off "$go" build -trimpath -o "$new/kept/fetch" ci/clients/fetch.go &&
        mv "$new/kept" "$new.go" && chmod -R u+w "$new" && rm -rf "$new" && mv "$new.go" "$new"
}

for lock in ci/clients/*.lock; do
    name=$(basename "$lock" .lock)
    wanted=$(echo "$version" | cat - "$lock" ci/clients/fetch.go | cksum)
    [ "$(cat "$into/$name/.made-of" 2>/dev/null)" = "$wanted" ] && continue
    rm -rf "$new"
    if unpack "$lock" && { [ "$name" != go ] || build; } && chmod -R a+rX "$new"; then
        echo "$wanted" >"$new/.made-of"
        rm -rf "${into:?}/$name"
        mv "$new" "$into/$name"
        echo "$into/$name: installed"
    else
        echo "note: the clients of $lock could not be installed; their rows stay untested"
        missing=1
    fi
done
# The programs by which a library is a client; they run here, and wherever attacks run.
cp ci/clients/fetch.py ci/clients/fetch.mjs "$into" && chmod a+r "$into"/fetch.* || missing=1
exit $missing
