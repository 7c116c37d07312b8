#!/bin/sh
# Runs one namespace host to its end and keeps the record: FOLDER/parent (the process above the
# host's first), FOLDER/ended (ms), FOLDER/code.
#
#   host_run.sh FOLDER NETWORK GROUP NAME COMMAND ARGS...     GROUP may be empty
set -u

folder=$1
network=$2
group=$3
shift 3

# A stop that comes while the host is being made waits, blocked, for its first program. The shell in
# between must leave it so: dash unblocks everything when it waits, bash does not.
# shellcheck disable=SC2016  # expanded by the inner shell
sh -c '
    [ -z "$1" ] || echo 0 >"$1/cgroup.procs" || :
    shift
    exec "$@"
' host "$group" env --block-signal=TERM nsenter --net="$network" \
    unshare --pid --mount --uts --ipc --fork --kill-child bash "$(dirname "$0")/host_init.sh" "$folder" "$@" &
echo $! >"$folder/parent"
wait $!
code=$?
ended=$(date +%s%3N) # whatever the disk does when that is written
# unshare cannot end itself by its child's SIGKILL and says 1.
[ ! -e "$folder/killed" ] || code=137
echo "$ended" >"$folder/ended"
echo "$code" >"$folder/code.part"
mv "$folder/code.part" "$folder/code"
