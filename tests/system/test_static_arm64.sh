#!/bin/sh
# The static launcher for arm64 (docker/static.sh aarch64), each of its processes in QEMU's
# user-mode emulation: jobs of one to three hosts, and then other scripts of this folder. mpirun and
# the ranks' programs are this machine's, except in one case. Runs only in `sh tests/run.sh long`,
# as compiler and emulator come from the network; CASES="..." selects cases, SCRIPTS="https" other
# scripts.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
top=$(cd "$(dirname "$0")/../.." && pwd)
dynamic=${RINGMASTER_BIN:-$top/build/release/bin}
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/rerun.sh"

[ "$DRIVER" = ns ] || skip "its hosts are namespaces of this machine"
[ -n "${RINGMASTER_LONG:-}${CASES:-}" ] ||
    skip "builds a compiler's worth of libraries: sh tests/run.sh long"
[ "$(uname -m)" = x86_64 ] || skip "it emulates arm64 on x86-64"
for program in cmake ninja perl pkg-config; do
    command -v $program >/dev/null || skip "no $program"
done
sh "$system/arm64_emulator.sh" "$top/.cache/static/qemu" || exit
qemu=$top/.cache/static/qemu/qemu-aarch64
"$qemu" --version | head -n 1
sh "$top/docker/static.sh" aarch64 || { echo "FAILED: docker/static.sh aarch64"; exit 1; }

# The kernel starts programs for arm64 with the emulator while this script runs. It opens the
# emulator now (flag F), so that hosts need no file of it.
formats=$(mktemp -d)
format=ringmaster-arm64-$$
forget() {
    [ ! -e "$formats/$format" ] || echo -1 >"$formats/$format"
    umount "$formats" 2>/dev/null
    rmdir "$formats"
}
trap 'server_down; ring_down; forget' EXIT
mount -t binfmt_misc binfmt_misc "$formats" 2>/dev/null || skip "the kernel has no binfmt_misc"
printf '%s' ":$format:M::\\x7fELF\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\xb7\\x00:\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff:$qemu:F" \
    >"$formats/register" || skip "the kernel takes no format"

folder=$top/build/static-arm64-tests
rm -rf "$folder"
mkdir -p "$folder/bin"
cp "$top/build/static-aarch64/bin/ringmaster" "$folder/bin/"
for name in train ringmaster-transfer; do ln -s ringmaster "$folder/bin/$name"; done
ln -s "$dynamic/lag" "$folder/bin/"
ln -s "$(dirname "$dynamic")/tests" "$folder/tests"
export RINGMASTER_BIN="$folder/bin" RINGMASTER_STATIC=1

it_is_a_program_for_arm64() {
    check "its machine is arm64" holds "$(readelf -hW "$RINGMASTER_BIN/ringmaster")" AArch64
    check "no library is needed" lacks "$(readelf -dW "$RINGMASTER_BIN/ringmaster")" NEEDED
    check "it has 6 MB at most" at_most "$(wc -c <"$RINGMASTER_BIN/ringmaster")" 6000000
    check "it runs" equal "$("$RINGMASTER_BIN/ringmaster" --version)" \
        "$("$dynamic/ringmaster" --version)"
}

the_trainer_is_not_there() {
    ring 1
    start_all -- train --data synthetic
    all_end 60 127 1 || return
    all_name 'ringtrain' 1
}

one_host() {
    ring 1
    start_all -- train -- sh -c 'echo "rank $RANK of $WORLD_SIZE on $SM_CURRENT_HOST"'
    all_end 60 0 1 || return
    check "the rank's line is marked" holds "$(hosts log 1)" "[algo-1 rank 0] rank 0 of 1 on algo-1"
}

two_hosts() {
    for launcher in mpirun direct; do
        ring 2
        start_all -e RINGMASTER_LAUNCHER=$launcher -- train -- \
            sh -c 'echo "rank $RANK of $WORLD_SIZE"'
        all_end 120 0 $everyone || return
        check "rank 1 has run by $launcher" holds "$(hosts log 2)" "[algo-2 rank 1] rank 1 of 2"
        nothing_is_left
    done
}

a_rank_fails() {
    ring 2
    start_all -- train -- \
        sh -c '[ $RANK = 0 ] || { echo "no such file" >&2; exit 3; }; exec sleep 60'
    all_end 120 3 $everyone || return
    all_name 'program: algo-2 rank 1: exited with 3' $everyone
    all_name 'no such file' $everyone
}

a_host_is_lost() {
    ring 2
    start_all -- train -- sh -c 'echo runs; exec sleep 60'
    check "it runs" wait_for 60 says 2 'rank 1] runs' || return
    hosts kill 2
    all_end 60 73 1 || return
    all_name 'algo-2' 1
}

it_is_stopped() {
    ring 2
    start_all -- train -- sh -c 'trap "exit 0" TERM; echo runs; while :; do sleep 0.1; done'
    for host in $everyone; do
        check "host $host runs" wait_for 60 says "$host" '] runs' || return
    done
    hosts stop 2
    all_end 60 143 $everyone
}

# Hosts with both processors do not form a job, as their builds differ.
a_host_has_another_processor() {
    ring 2
    hosts start 1 -- train -- true
    hosts start 2 -- "$dynamic/train" -- true
    all_end 60 65 1 2 || return
    all_name 'algo-2: it runs build' 1 2
}

# signal_emulated HOST SIGNAL: to the rank's program, which the kernel runs in the emulator.
# shellcheck disable=SC2016  # expanded on the host
signal_emulated() {
    hosts exec "$1" sh -c 'for p in /proc/[0-9]*; do
        tr "\0" " " <"$p/cmdline" | grep -q "meeting wait \$" && kill -s "$0" "${p#/proc/}"
    done' "$2"
}

# The ranks' program is for arm64 as well, as in an image for such machines: three ranks connect
# over TCP.
ranks_are_for_arm64() {
    "$top/.cache/static/tools-aarch64/cc" -o "$folder/meeting" "$system/meeting.c"
    ring 3
    cp "$folder/meeting" "$share/"
    start_all -- train -- "$share/meeting"
    all_end 120 0 $everyone || return
    for host in $everyone; do
        check "rank $((host - 1)) has met the others" holds "$(hosts log "$host")" \
            "] rank $((host - 1)) of 3: the sum is 3"
    done
    ring 3
    cp "$folder/meeting" "$share/"
    start_all -- train -- "$share/meeting" wait
    for host in $everyone; do
        check "host $host runs" wait_for 60 says "$host" 'the sum is 3' || return
    done
    signal_emulated 2 KILL
    all_end 60 137 $everyone || return
    all_name 'algo-2 rank 1: killed by signal 9 (SIGKILL)' $everyone
}

usual="it_is_a_program_for_arm64 the_trainer_is_not_there one_host two_hosts a_rank_fails
    a_host_is_lost it_is_stopped a_host_has_another_processor ranks_are_for_arm64"
# Other scripts of this folder run unless cases are selected; they make rings of their own.
[ -n "${CASES:-}" ] || SCRIPTS=${SCRIPTS:-job_direct https restarts_direct faults}
CASES=${CASES:-$usual}
scripts=${SCRIPTS:-}
unset SCRIPTS # the other scripts read it, too
run_cases
ring_down
copy_programs "$folder" "$dynamic"
for script in $scripts; do rerun_script "$script"; done
check "$scripts_failed of the other scripts failed: $scripts" [ "$scripts_failed" = 0 ]
[ "$scripts_skipped" = 0 ] || skip_case "$scripts_skipped of the other scripts"
finish
