#!/bin/sh
# ci/proxies.sh [squid] [tinyproxy] [mitmproxy] [srt]: installs the proxies that have columns, all four where none
# is named: packages of the system, and into .proxies (or $ESCAPE_MATRIX_PROXIES) what the locks in ci/proxies/
# name, each by its hash. What is there already is left alone. Exit code 1 if anything could not be had.
# Some systems start a package's own service when it is installed; the matrix starts its own and asks none of those.
set -u
cd "$(dirname "$0")/.."
into=${ESCAPE_MATRIX_PROXIES:-$PWD/.proxies}
umask 022
missing=0

here() { command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ]; }

packages() { # PROGRAM=PACKAGE…: those whose program is not here
    wanted=
    for each in "$@"; do here "${each%%=*}" || wanted="$wanted ${each#*=}"; done
    [ -z "$wanted" ] || ci/packages.sh $wanted
    for each in "$@"; do here "${each%%=*}" || return 1; done
}

mitmproxy() { # pyperclip, which it pins, has no wheel
    python=$(ci/python.sh) && "$python" -m venv "$1" &&
        "$1/bin/python" -m pip --quiet --quiet --disable-pip-version-check --no-input install \
            --require-hashes --only-binary :all: --no-binary pyperclip -r ci/proxies/mitmproxy.lock
}

srt() {
    packages node=nodejs npm=npm bwrap=bubblewrap socat=socat rg=ripgrep && mkdir "$1" &&
        cp ci/proxies/package.json ci/proxies/package-lock.json "$1" &&
        npm ci --prefix "$1" --ignore-scripts --no-audit --no-fund --silent
}

kept() { # NAME LOCK: NAME's function fills $into/NAME, unless it was filled by this very lock
    made=$(cksum <"$2")
    [ "$(cat "$into/$1/.made-of" 2>/dev/null)" = "$made" ] && return
    rm -rf "${into:?}/$1" && mkdir -p "$into" && "$1" "$into/$1" && echo "$made" >"$into/$1/.made-of" &&
        echo "$into/$1: installed"
}

for name in ${*:-squid tinyproxy mitmproxy srt}; do
    case $name in
    squid | tinyproxy) packages "$name=$name" ;;
    mitmproxy) kept mitmproxy ci/proxies/mitmproxy.lock ;;
    srt) kept srt ci/proxies/package-lock.json ;;
    *) false ;;
    esac || { echo "note: $name could not be installed; its column stays untested" && missing=1; }
done
exit $missing
