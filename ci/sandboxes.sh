#!/bin/sh
# Installs the sandboxes that come as packages of the system and are not here yet: bubblewrap and
# firejail, and with E2E_DOCKER=1 a Docker daemon. It is asked for by name because a package manager
# may start that daemon for the whole machine. unshare is on every Linux, nsjail comes with the lock.
set -u
cd "$(dirname "$0")"

if [ "$(uname -s)" != Linux ]; then
    echo "note: the sandboxes of this table are Linux programs; there is nothing to install here"
    exit 0
fi

here() { command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ]; }

set --
here bwrap || set -- "$@" bubblewrap
if ! here firejail; then
    set -- "$@" firejail
    if here apt-get; then set -- "$@" firejail-profiles; fi # a package of its own there
fi
if [ "${E2E_DOCKER:-}" = 1 ] && ! here dockerd; then
    if here apt-get; then set -- "$@" docker.io; else set -- "$@" docker; fi
fi
[ $# -eq 0 ] || ./packages.sh "$@"
