# Builds the view of a strict `unshare` sandbox, then becomes the command. Runs as process 1 of
# fresh namespaces, with the right to mount in them. Source: unshare(1), mount(8), pivot_root(8).
#
#     sh unshare.sh WORKSPACE ORDER... -- COMMAND...
#
# ORDER, carried out in turn: show DIR (read-only) · link TARGET NAME · protect PATH · hide-dir PATH ·
# hide-file PATH EMPTY. The last three are below the workspace.
set -e
PATH=/usr/sbin:/usr/bin:/sbin:/bin
workspace=$1
shift

hostname sandbox
new=/mnt # covered by a file system of our own, in this mount namespace only
mount -t tmpfs -o mode=755,nosuid,nodev sandbox $new
cd $new
mkdir -p proc dev tmp old
for device in null zero urandom; do
    : >dev/$device
    mount --bind /dev/$device dev/$device
done
mount -t proc -o ro,nosuid,nodev,noexec proc proc # /proc/sys obeys the uid, not the capabilities
mount -t tmpfs -o nosuid,nodev,mode=1777 tmp tmp
mkdir -p ".$workspace" # now, as it may be below /tmp
mount --bind "$workspace" ".$workspace"
mount -o remount,bind,rw,nosuid,nodev ".$workspace"

read_only() { # SOURCE NAME
    mount --bind "$1" ".$2"
    mount -o remount,bind,ro,nosuid,nodev ".$2"
}

show() { # DIR with the mounts below it, which a user namespace lets nobody leave out
    mkdir -p ".$1"
    mount --rbind "$1" ".$1"
    while read -r _ _ _ _ point _; do
        case $point in
        "$new$1" | "$new$1"/*) mount -o remount,bind,ro,nosuid,nodev "$(printf %b "$point")" ;;
        esac
    done </proc/self/mountinfo
}

while [ "$1" != -- ]; do
    case $1 in
    show)
        show "$2"
        shift 2
        ;;
    link)
        ln -s "$2" ".$3"
        shift 3
        ;;
    protect)
        read_only "$2" "$2"
        shift 2
        ;;
    hide-dir)
        mount -t tmpfs -o ro,mode=000,size=4k hidden ".$2"
        shift 2
        ;;
    hide-file)
        read_only "$3" "$2"
        shift 3
        ;;
    *)
        echo "unshare.sh: unknown order $1" >&2
        exit 125
        ;;
    esac
done
shift

pivot_root . old
umount -l old
rmdir old
mount -o remount,bind,ro /
cd "$workspace"
exec "$@"
