#!/bin/sh
# ci/packages.sh PACKAGE…: installs packages of the system where this account may (root, or sudo that
# asks for no password), and says what it did. It never asks, and what it could not do is a note and
# never an error: whatever is missing shows in the matrix as untested.
set -u

if [ "$(id -u)" = 0 ]; then
    root=
elif sudo -n true 2>/dev/null </dev/null; then
    root="sudo -n"
else
    echo "note: not installed: $*. This account may not install packages; an administrator may."
    exit 0
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT INT TERM

if command -v apt-get >/dev/null; then
    install="env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=60 install -y -qq --no-install-recommends"
    $root apt-get -o DPkg::Lock::Timeout=60 update -qq >"$log" 2>&1 </dev/null ||
        echo "note: the package lists could not be renewed; trying with those that are here"
elif command -v dnf >/dev/null; then
    install="dnf install -y -q"
elif command -v pacman >/dev/null; then
    install="pacman -Sy --noconfirm --needed"
else
    echo "note: not installed: $*. None of apt-get, dnf and pacman is here."
    exit 0
fi

for package in "$@"; do # one by one: a name that this system lacks must not keep back the others
    if $root $install "$package" >"$log" 2>&1 </dev/null; then
        echo "$package: installed"
    else
        echo "note: $package could not be installed: $(tail -n 1 "$log")"
    fi
done
