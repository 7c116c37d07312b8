#!/bin/sh
# slow_rank.sh RANK COMMAND...: runs the command, for tests and measurements of a slow host. On rank
# RANK the command is paused half of the time.
slow=$1
shift
[ "$slow" = "${RANK:-}" ] || exec "$@"
"$@" &
child=$!
trap 'kill -CONT $child; kill -TERM $child' TERM
while kill -STOP $child 2>/dev/null; do
    sleep 0.1
    kill -CONT $child 2>/dev/null || break
    sleep 0.1
done
wait $child
