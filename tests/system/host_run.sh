#!/bin/sh
# Runs one namespace host to its end and records FOLDER/parent (the parent of the host's first
# process), FOLDER/ended (ms) and FOLDER/code.
#
#   host_run.sh FOLDER NETWORK GROUP NAME COMMAND ARGS...     GROUP may be empty
set -u

folder=$1
network=$2
group=$3
shift 3

# SIGTERM is blocked while the host is being made, and is delivered to its first program. The shell
# in between must keep it blocked: dash unblocks all signals when it waits, bash does not.
# shellcheck disable=SC2016  # expanded by the inner shell
sh -c '
    [ -z "$1" ] || echo 0 >"$1/cgroup.procs" || :
    shift
    exec "$@"
' host "$group" env --block-signal=TERM nsenter --net="$network" \
    unshare --pid --mount --uts --ipc --fork --kill-child \
    bash "$(dirname "$0")/host_init.sh" "$folder" "$@" &
echo $! >"$folder/parent"
wait $!
code=$?
ended=$(date +%s%3N) # taken before the disk is used, which may be slow
# unshare cannot end itself by its child's SIGKILL and exits with 1.
[ ! -e "$folder/killed" ] || code=137
echo "$ended" >"$folder/ended"
echo "$code" >"$folder/code.part"
mv "$folder/code.part" "$folder/code"
