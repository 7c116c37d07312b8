#!/bin/sh
# sh tests/mutation/box.sh COMMAND...: runs it as process 1 of fresh namespaces, on a file system that
# can be written nowhere but in an empty /tmp, /run and /dev/shm, with no network but loopback.
if [ "${MUTATION_BOX:-}" != inside ]; then
    MUTATION_BOX=inside exec unshare --mount --pid --net --ipc --uts --fork --kill-child --mount-proc sh "$0" "$@"
fi
unset MUTATION_BOX
mount --make-rprivate / || exit 70
while read -r _ _ _ _ point _; do
    case $point in
    /proc | /proc/*) ;;
    *) mount -o remount,bind,ro "$point" 2>/dev/null ;;
    esac
done </proc/self/mountinfo
for folder in /tmp /run /dev/shm; do
    mount -t tmpfs -o size=2g,mode=1777 tmpfs "$folder" || exit 70
done
touch "$0" 2>/dev/null && { echo "box.sh: the file system can still be written" >&2; exit 70; }
ip link set lo up || exit 70
# A mutant may ask for anything: bytes of addresses, bytes of a file. The shell stays: process 1 ignores
# signals that it has no handler for.
prlimit --as=34359738368 --fsize=2147483648 --core=0 "$@"
exit $?
