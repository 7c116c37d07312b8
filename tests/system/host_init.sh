#!/bin/sh
# The first process of a namespace host, whose mounts are its own (unshare): gives it a file system where hosts must
# differ, then becomes the host's PID 1.
#
#   bash host_init.sh FOLDER NAME COMMAND ARGS...
#
# FOLDER is the host's (see hosts.sh). /opt, /tmp, /run and /var/tmp become the host's own folders
# below it, /dev/shm a memory file system, /etc/hosts and /etc/resolv.conf those of the ring; the
# environment is FOLDER/environment. Everything else is the machine's, and the repository stays
# where it is, but can be read alone: what goes wrong on a host must not end in it. The ring's share is
# the one folder there that hosts write to.
set -eu

folder=$1
name=$2
shift 2

# A line each, in front of the command; of two for one name the file's first counts.
while IFS= read -r line; do
    set -- "$line" "$@"
done <"$folder/environment"

top=$(cd "$(dirname "$0")/../.." && pwd)
# The repository, and with it FOLDER, may lie in a folder that is about to be covered: then it is
# laid into the host's own one first, at its old path, and that folder is covered last.
last=
for own in opt tmp run var/tmp; do
    case $top in
    /"$own"/*) last=$own ;;
    esac
done
# Users without a name get at it only where all folders above it let strangers through: the first one
# that does not is covered likewise.
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
# The share is a mount of its own by then, which stays as it was.
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
# mount leaves a folder of its own.
rm -rf /run/mount 2>/dev/null || :
# As a careful operator runs a container: a user without a name, no capability, none to be had, and of
# the file system nothing to write to but the job's folder, /tmp, /dev/shm and the ring's share.
if [ -n "${UNPRIVILEGED:-}" ]; then
    user=4321
    chown -R "$user:$user" /opt/ml 2>/dev/null || : # but for what can be read alone
    mount -n -o remount,bind,ro /
    rm -rf /run/mount 2>/dev/null || :
    mount -n -o remount,bind,ro /run
    exec setpriv --reuid "$user" --regid "$user" --clear-groups --bounding-set=-all \
        --inh-caps=-all --ambient-caps=-all --no-new-privs \
        env -i --default-signal=INT,QUIT "$@"
fi
# A shell's background job ignores INT and QUIT; a container's first process does not.
exec env -i --default-signal=INT,QUIT "$@"
