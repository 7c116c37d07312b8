#!/bin/sh
# The static launcher (docker/static.sh) in a root directory like Alpine's: busybox, and musl's
# loader from Debian. The ranks' program is built for musl, once with that loader and once without
# any, and its ranks connect over TCP. Runs only in `sh tests/run.sh long`, as compiler and
# packages come from the network; CASES="..." selects cases.
# shellcheck disable=SC2034,SC2154,SC2016  # lib.sh's and roots.sh's variables; scripts for hosts
dynamic=${RINGMASTER_BIN:-$(cd "$(dirname "$0")/../.." && pwd)/build/release/bin}
. "$(dirname "$0")/lib.sh"

[ "$DRIVER" = ns ] || skip "its roots are folders of this machine"
[ -n "${RINGMASTER_LONG:-}${CASES:-}" ] ||
    skip "builds a compiler's worth of libraries: sh tests/run.sh long"
. "$system/roots.sh"
take_static_launcher

# compiled PROCESSOR NAME [OPTION]...: builds the ranks' program with the launcher's compiler.
compiled() {
    processor=$1 name=$2
    shift 2
    sh "$top/docker/static/compiler.sh" "$processor" "$top/.cache/static" &&
        "$top/.cache/static/tools-$processor/cc" -Wall -Wextra "$@" -o "$root/usr/local/bin/$name" \
            "$system/meeting.c"
}

alpine_like() {
    enter musl || return 1
    compiled x86_64 meeting -dynamic && compiled x86_64 meeting-static ||
        check "the ranks' program is built" false
}

begin_all() { for host in $everyone; do in_root "$host" -- train -- "$@"; done; }
all_have_met() {
    for host in $everyone; do
        check "rank $((host - 1)) has met the others" wait_for 60 says "$host" \
            "] rank $((host - 1)) of 3: the sum is 3" ||
            return
    done
}

it_is_a_root_of_musl() {
    alpine_like || return 0
    check "the program asks for musl's loader" holds \
        "$(readelf -lW "$root/usr/local/bin/meeting")" /lib/ld-musl-x86_64.so.1
    check "the other one for none" lacks \
        "$(readelf -lW "$root/usr/local/bin/meeting-static")" INTERP
    check "there is no glibc" equal \
        "$(find "$root" -xdev -name 'libc.so.6' -o -xdev -name 'ld-linux*')" ''
    check "nor mpirun" equal "$(find "$root" -xdev -name 'mpirun*')" ''
}

ends_well() {
    alpine_like || return 0
    for program in meeting meeting-static; do
        ring 3
        begin_all $program
        all_end 90 0 $everyone || return
        all_have_met || return
    done
}

a_rank_fails() {
    alpine_like || return 0
    for program in meeting meeting-static; do
        ring 3
        begin_all $program fail 1
        all_end 90 3 $everyone || return
        all_name 'program: algo-2 rank 1: exited with 3' $everyone
        all_name 'no such file' $everyone
    done
}

# at_work PROGRAM: its ranks have met, and wait.
at_work() {
    ring 3
    begin_all "$1" wait
    all_have_met
}

it_is_stopped() {
    alpine_like || return 0
    at_work meeting || return
    hosts stop 3
    all_end 60 143 $everyone || return
    all_name 'stopped on request at algo-3' $everyone
}

it_is_killed() {
    alpine_like || return 0
    # A program that was started through its loader would show as the loader.
    for program in meeting meeting-static; do
        at_work $program || return
        signal_program 2 KILL $program
        all_end 60 137 $everyone || return
        all_name 'algo-2 rank 1: killed by signal 9 (SIGKILL)' $everyone
    done
    at_work meeting || return
    hosts kill 2
    all_end 60 73 1 3 || return
    all_name 'algo-2' 1 3
}

# The reason why a program does not run is named: it is for glibc, lacks a library, or is for
# another processor.
what_does_not_run_is_told() {
    alpine_like || return 0
    cp /bin/true "$root/usr/local/bin/glibcs"
    told glibcs 127 'glibcs exists, but its loader /lib64/ld-linux-x86-64.so.2 does not' \
        'use a base with that C library'
    compiled aarch64 foreign || check "the foreign program is built" false
    told foreign 126 'foreign is built for arm64, and this host runs programs for x86-64' \
        'build it for this processor'
    echo 'int absent(void) { return 0; }' >"$RING/absent.c"
    "$top/.cache/static/tools-x86_64/cc" -no-pie -dynamic -shared -fPIC -o "$RING/libabsent.so" \
        "$RING/absent.c" &&
        compiled x86_64 lacking -dynamic -Wl,--no-as-needed "-L$RING" -labsent ||
        check "the program that lacks a library is built" false
    told lacking 127 'Error loading shared library libabsent.so' 'in the image names libraries'
}

# told PROGRAM CODE TEXT HINT: it ends with CODE, the failure file has TEXT, and there is a hint.
told() {
    ring 1
    in_root 1 -- train -- "$1"
    all_end 60 "$2" 1 || return
    all_name "$3" 1
    check "there is a hint" holds "$(hosts log 1)$(failure_of 1)" "$4"
    rm -f "$root/usr/local/bin/$1"
}

# Names in /etc/hosts are enough: there is no /etc/resolv.conf.
no_name_server_is_asked() {
    alpine_like || return 0
    ring 3
    given=hosts
    mv "$root/etc/resolv.conf" "$root/etc/resolv.conf.off"
    begin_all meeting
    all_end 90 0 $everyone && all_have_met
    given="hosts resolv.conf"
    mv "$root/etc/resolv.conf.off" "$root/etc/resolv.conf"
}

CASES=${CASES:-it_is_a_root_of_musl ends_well a_rank_fails it_is_stopped it_is_killed
    what_does_not_run_is_told no_name_server_is_asked}
run_cases
finish
