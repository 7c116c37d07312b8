#!/bin/sh
# The first process of a namespace host, which has its own mounts (unshare). It gives the host its
# own file systems where hosts must differ, then becomes the host's PID 1.
#
#   bash host_init.sh FOLDER NAME COMMAND ARGS...
#
# FOLDER is the host's (see hosts.sh). /opt, /tmp, /run and /var/tmp become the host's own folders
# below it, /dev/shm a memory file system, /etc/hosts and /etc/resolv.conf those of the ring; the
# environment is FOLDER/environment. Everything else is the machine's. The repository stays where it
# is, but is read-only, so that a faulty host cannot change it; hosts can only write to the ring's
# share in it.
set -eu

folder=$1
name=$2
shift 2

# Each line becomes a word before the command. Of two lines for one name, the first in the file
# counts.
while IFS= read -r line; do
    set -- "$line" "$@"
done <"$folder/environment"

top=$(cd "$(dirname "$0")/../.." && pwd)
# The repository, and with it FOLDER, may be in a folder that will be mounted over. The repository
# is then mounted in the host's own folder first, at its old path, and that folder comes last.
last=
for own in opt tmp run var/tmp; do
    case $top in
    /"$own"/*) last=$own ;;
    esac
done
# Users without a name reach the repository only if they may enter all folders above it. The first
# folder that they may not enter is mounted over in the same way.
way=
rest=${top#/}
while [ -z "$last" ] && [ "$rest" != "${rest#*/}" ]; do
    way=$way/${rest%%/*}
    rest=${rest#*/}
    case $(stat -c %A "$way") in
    *[xt]) ;;
    *) last=${way#/} ;;
    esac
done
if [ -n "$last" ]; then
    mkdir -p "$folder/root$top"
    mount --bind "$top" "$folder/root$top"
fi
# The hosts file is shared by the whole ring and grows as hosts start, as a name service would.
mount --bind "$folder/../hosts" /etc/hosts
mount --bind "$folder/../resolv.conf" /etc/resolv.conf
for own in opt tmp run var/tmp; do
    [ "$own" = "$last" ] || mount --bind "$folder/root/$own" "/$own"
done
[ -z "$last" ] || mount --rbind "$folder/root/$last" "/$last"
# The share becomes a mount of its own first, so that it stays writable.
mount --bind "$folder/../share" "$folder/../share"
mount --rbind "$top" "$top"
mount -o remount,bind,ro "$top"
mount -t tmpfs -o size=64m,mode=1777 shm /dev/shm
mount -t proc proc /proc
hostname "$name"
cd /
# The words of "$@" are variables and command.
# shellcheck source=/dev/null
[ ! -s "$folder/prepare" ] || . "$folder/prepare" || exit 99
# mount leaves this folder behind.
rm -rf /run/mount 2>/dev/null || :
# The host runs as a careful operator runs a container: as a user without a name, without
# capabilities or a way to gain any, and with write access only to the job's folder, /tmp, /dev/shm
# and the ring's share.
if [ -n "${UNPRIVILEGED:-}" ]; then
    user=4321
    chown -R "$user:$user" /opt/ml 2>/dev/null || : # read-only files keep their owner
    mount -n -o remount,bind,ro /
    rm -rf /run/mount 2>/dev/null || :
    mount -n -o remount,bind,ro /run
    exec setpriv --reuid "$user" --regid "$user" --clear-groups --bounding-set=-all \
        --inh-caps=-all --ambient-caps=-all --no-new-privs \
        env -i --default-signal=INT,QUIT "$@"
fi
# A shell's background job ignores INT and QUIT; a container's first process does not.
exec env -i --default-signal=INT,QUIT "$@"
