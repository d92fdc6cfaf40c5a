#!/bin/sh
# ci/left.sh [ACCOUNT]: what runs of escape-matrix that have ended left on this machine, one line each; with
# ACCOUNT also whatever else is that account's, outside its home. Exit code 1 if there is anything.
set -u
account=${1:-}

look() {
    ps -eo pid=,args= | grep -E '/\.?escape-matrix-[^ ]*run-' | grep -v grep
    # Not all have the run's folder in their arguments: tier 1's proxy, the guard of another's, a world's process.
    ps -eo pid=,args= | grep -E -- '-m (runners\.tier1\.serve|matrix\.world) |/runners/(guard\.py|srt_proxy\.mjs)' | grep -v grep
    grep -o ' [^ ]*escape-matrix-[^ ]*run-[^ ]*' /proc/self/mountinfo
    find /tmp /var/tmp /dev/shm /run -xdev -maxdepth 2 \( -name 'run-*' -path '*escape-matrix-*' \
        -o -name '.escape-matrix-*' -o -name 'tier1-*' \) 2>/dev/null
    find /dev/shm /dev/mqueue -xdev -maxdepth 1 -name 'esc-*' 2>/dev/null # a row's own objects of memory and queues
    for device in /dev/null /dev/zero /dev/tty; do # a stray write of mode or owner would show here first
        [ "$(stat -c '%a %u' "$device")" = "666 0" ] || ls -l "$device"
    done
    [ -n "$account" ] || return 0
    # A zombie has ended; that nobody has asked how is the affair of whoever adopted it.
    ps -u "$account" -o stat=,pid=,args= | awk '$1 !~ /^Z/ { $1 = ""; print }'
    find /tmp /var/tmp /dev/shm /run -xdev -user "$account" 2>/dev/null
    for kind in shm msg sem; do # the column of the owner has a different place in each
        awk -v uid="$(id -u "$account")" -v kind="$kind" '
            NR == 1 { for (i = 1; i <= NF; i++) if ($i == "uid") owner = i; next }
            $owner == uid { print "sysv-" kind, $2 }' "/proc/sysvipc/$kind"
    done
}

left=$(look | sort -u)
[ -n "$left" ] || exit 0
printf '%s\n' "$left" | sed 's/^/left behind: /'
exit 1
