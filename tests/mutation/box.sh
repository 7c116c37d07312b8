#!/bin/sh
# sh tests/mutation/box.sh SECONDS BYTES COMMAND...: runs it as a child of process 1 of fresh namespaces, on a file system that
# can be written nowhere but in an empty /tmp and /run and a /dev of its own, with no network but loopback. No process of it
# may use more than SECONDS of a processor and BYTES of addresses.
if [ "${MUTATION_BOX:-}" != inside ]; then
    MUTATION_BOX=inside exec unshare --mount --pid --net --ipc --uts --fork --kill-child --mount-proc sh "$0" "$@"
fi
unset MUTATION_BOX
seconds=$1 memory=$2
shift 2
mount --make-rprivate / || exit 70
while read -r _ _ _ _ point _; do
    case $point in
    /proc | /proc/*) ;;
    *) mount -o remount,bind,ro "$point" 2>/dev/null ;;
    esac
done </proc/self/mountinfo
for folder in /tmp /run; do
    mount -t tmpfs -o size=2g,mode=1777 tmpfs "$folder" || exit 70
done
# A device that a mutant removes or replaces is the box's own.
mount -t tmpfs -o size=2g,mode=755 tmpfs /dev && mkdir -m 1777 /dev/shm && ln -s /proc/self/fd /dev/fd || exit 70
while read -r device minor; do
    mknod -m 666 "/dev/$device" c 1 "$minor" || exit 70
done <<END
null 3
zero 5
full 7
random 8
urandom 9
END
mkdir /dev/pts && mount -t devpts -o newinstance,ptmxmode=666 devpts /dev/pts && ln -s pts/ptmx /dev/ptmx || exit 70
touch "$0" 2>/dev/null && { echo "box.sh: the file system can still be written" >&2; exit 70; }
ip link set lo up && cd /tmp || exit 70
# A mutant may ask for anything: bytes of addresses, bytes of a file. The shell stays: process 1 ignores
# signals that it has no handler for.
prlimit --as="$memory" --fsize=2147483648 --core=0 --cpu="$seconds" "$@"
exit $?
