#!/bin/sh
# A program without MPI for the system tests.
#
#   probe.sh FOLDER SECONDS [RANK exit CODE | RANK segv | RANK memory | RANK full]
#
# Each rank writes FOLDER/in-main-RANK (its pid and the time in ms) at its start and FOLDER/out-RANK
# at its end. If RANK is given, that rank waits until half a second after all have started and until
# FOLDER/fail exists, writes FOLDER/failed-RANK and fails: with memory it allocates 900 MB and keeps
# them; with full it fills the disk under /opt/ml/output and exits with 42. SIGTERM ends it with 0.
set -u

folder=$1
seconds=$2
shift 2

mark() {
    echo "$$ $(date +%s%3N)" >"$folder/$1-$RANK.part"
    mv "$folder/$1-$RANK.part" "$folder/$1-$RANK"
}

nap=
leave() {
    # The whole process group gets SIGTERM; the nap may be over already.
    [ -z "$nap" ] || kill "$nap" 2>/dev/null
    echo "rank $RANK leaves on request"
    mark out
    exit 0
}
trap leave TERM
mark in-main
echo "rank $RANK of $WORLD_SIZE is in main"

nap_for() {
    sleep "$1" &
    nap=$!
    wait "$nap"
    nap=
}

if [ "${1:-}" = "$RANK" ]; then
    for other in $(seq 0 $((WORLD_SIZE - 1))); do
        while [ ! -e "$folder/in-main-$other" ]; do nap_for 0.1; done
    done
    nap_for 0.5
    while [ ! -e "$folder/fail" ]; do nap_for 0.1; done
    mark failed
    case $2 in
    exit) exit "$3" ;;
    segv) kill -s SEGV $$ ;;
    memory) exec perl -e '$x = chr(120) x 900000000; sleep 60' ;;
    full)
        dd if=/dev/zero of=/opt/ml/output/fill bs=1k count=100 2>/dev/null
        exit 42
        ;;
    esac
fi
nap_for "$seconds"
mark out
