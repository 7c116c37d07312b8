#!/bin/sh
# Tests that a folder of the first host's disk reaches all hosts: files are verified, a second job
# fetches only what has changed, and obstacles are reported.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

[ "$DRIVER" = ns ] || skip "hosts have folders of their own here"
[ -x "$RINGMASTER_BIN/ringmaster-transfer" ] ||
    skip "this build fetches nothing: no libcurl, libarchive or Expat"

settings="-e RINGMASTER_CHANNEL_TRAIN=first:///opt/ml/set -e RINGMASTER_READY_SECONDS=30"

# begin HOSTS: makes a ring of so many hosts; the first one has a set of a large file, small ones
# with odd names, and an empty one.
begin() {
    ring_down
    ring "$1"
    set=$(hosts opt 1)/set
    mkdir -p "$set/train/a class" "$set/val"
    head -c 30000000 /dev/urandom >"$set/train/large"
    for i in 1 2 3 4 5 6 7 8 9; do echo "$i" >"$set/train/a class/Käse $i %41+&?#.jpg"; done
    : >"$set/val/empty"
    touch -d '2020-01-02 03:04:05' "$set/train/large"
    expected=$(cd "$set" && find . -type f | sort | xargs -d '\n' cksum | cksum)
}
# This prints a checksum over the names and bytes of the files that a host has.
look='cd /opt/ml/input/data/train/ && find . -type f | sort | xargs -d "\n" cksum | cksum'

all_have_it() {
    for host in $everyone; do
        check "host $host has the set" holds "$(hosts log "$host")" "$expected"
        check "nothing else of host $host is left" equal \
            "$(find "$(hosts opt "$host")" -name '.ringmaster-*' | wc -l)" 0
    done
}

every_host_gets_it() {
    begin 5 || return
    # shellcheck disable=SC2086  # words
    start_all $settings -- train -- sh -c "$look"
    all_end 120 0 $everyone || return
    all_have_it
    check "it is a link on the first host" [ -L "$(hosts opt 1)/input/data/train" ]
    check "it is a folder on the fifth" [ ! -L "$(hosts opt 5)/input/data/train" ]
    check "files keep their time" equal \
        "$(stat -c %Y "$(hosts opt 4)/input/data/train/train/large")" \
        "$(stat -c %Y "$set/train/large")"
}

what_is_there_stays() {
    begin 3 || return
    # shellcheck disable=SC2086  # words
    start_all $settings -- train -- sh -c "$look"
    all_end 120 0 $everyone || return
    large=$(hosts opt 3)/input/data/train/train/large
    was=$(stat -c %i "$large")
    second=$(hosts opt 2)/input/data/train
    rm "$second/val/empty"
    echo changed >"$set/train/a class/Käse 1 %41+&?#.jpg"
    expected=$(cd "$set" && find . -type f | sort | xargs -d '\n' cksum | cksum)
    # shellcheck disable=SC2086  # words
    start_all $settings -- train -- sh -c "$look"
    all_end 120 0 $everyone || return
    all_have_it
    check "a file that is the same is left as it is" equal "$(stat -c %i "$large")" "$was"
}

one_host_needs_nobody() {
    begin 1 || return
    # shellcheck disable=SC2086  # words
    start_all $settings -- train -- sh -c "$look"
    all_end 120 0 1 || return
    all_have_it
}

what_stands_against_it() {
    begin 3 || return
    start_all -e RINGMASTER_CHANNEL_TRAIN=first:///opt/ml/nothing -e RINGMASTER_READY_SECONDS=30 \
        -- train -- true
    all_end 120 66 $everyone || return
    check "the folder is named" \
        holds "$(hosts log 1)" "first:///opt/ml/nothing: No such file or directory"
    ring_down
    begin 2 || return
    start_all $settings -e RINGMASTER_SHARDED=train -- train -- true
    all_end 120 65 $everyone || return
    check "shares are refused" holds "$(hosts log 1)" "only a channel from s3:// can be sharded"
    ring_down
    begin 2 || return
    ln -s large "$set/train/link"
    # shellcheck disable=SC2086  # words
    start_all $settings -- train -- true
    all_end 120 0 $everyone || return
    check "links are logged" holds "$(hosts log 1)" \
        'train: 1 links or devices are not passed on, "link" among them'
}

a_check_tells_what_is_there() {
    begin 3 || return
    # shellcheck disable=SC2086  # words
    start_all $settings -- ringmaster check
    all_end 60 0 $everyone || return
    check "the first host has it" holds "$(hosts log 1)" 'train: 11 files, 28 MiB'
    check "the others fetch it" holds "$(hosts log 1)" 'train: fetched from first:///opt/ml/set'
    check "the speed is logged" holds "$(hosts log 1)" 'data comes at '
    hosts log 1 | grep -E ' (data|reading) ' | sed 's/^/  /'
}

CASES=${CASES:-every_host_gets_it what_is_there_stays one_host_needs_nobody what_stands_against_it
    a_check_tells_what_is_there}
run_cases
finish
