#!/bin/sh
# Tests the machinery of the system tests itself: hosts cannot harm the repository, and a ring that
# cannot be made is an error, leaves nothing behind, and is never mistaken for a ring.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

hosts_can_read_the_repository_and_write_where_they_should() {
    as_root "what is not written to has to be so for root, too"
    ring 2
    start_all -- sh -c '
        for place in "$0/README.md" "$0/tests" "$0/build"; do
            [ -e "$place" ] || echo "absent $place"
        done
        (: >"$0/made") 2>/dev/null && echo "made a file in the repository"
        (: >>"$0/README.md") 2>/dev/null && echo "opened README.md"
        rm -f "$0/CONTRIBUTING.md" 2>/dev/null && echo "removed CONTRIBUTING.md"
        for folder in "$1" /opt/ml/model /tmp /run /var/tmp /dev/shm; do
            (: >"$folder/made-$(hostname)") || echo "$folder cannot be written"
        done
        echo "looked"' "$top" "$share"
    check "they end" hosts wait "$PATIENCE"
    for host in $everyone; do
        check "host $host finds things as they should be" equal "$(hosts log "$host")" looked
        check "host $host writes to the share" [ -e "$share/made-$(hosts name "$host")" ]
    done
    check "the repository is whole" [ -e "$top/CONTRIBUTING.md" ]
}

# A test that waits for a line of a restarted host does not see the lines of an earlier run.
a_host_that_is_started_again_has_said_nothing_yet() {
    ring 1
    for time in $(seq 1 30); do
        hosts start 1 -- echo "word $time"
        check "nothing of time $((time - 1)) is printed in time $time" says_no \
            "word $((time - 1))" || return
        check "it ends" hosts wait "$PATIENCE" 1 || return
    done
}
says_no() { ! says 1 "$1"; }

# Another process of this machine may have the host's PID by then.
a_host_that_has_ended_is_none_to_signal() {
    ring 1
    hosts start 1 -- true
    check "it ends" hosts wait "$PATIENCE" 1 || return
    sleep 600 &
    stranger=$!
    echo "$stranger" >"$RING/host-1/pid"
    hosts kill 1 2>/dev/null
    check "there is nobody to kill" equal $? 70
    check "the stranger is alive" kill "$stranger"
    wait "$stranger" 2>/dev/null || :
}

# A host that has lost its keeper process has no exit code, and its PID may be another process's.
a_host_without_a_keeper_names_no_process_of_the_machine() {
    ring 1
    hosts start 1 -- true
    check "it ends" hosts wait "$PATIENCE" 1 || return
    mv "$RING/host-1/code" "$RING/host-1/code.kept"
    sleep 600 &
    stranger=$!
    echo "$stranger" >"$RING/host-1/pid"
    check "none is named" equal "$(hosts pids 1)" ''
    mv "$RING/host-1/code.kept" "$RING/host-1/code"
    kill "$stranger"
    wait "$stranger" 2>/dev/null || :
}

# Whatever keeps a ring from being made, `hosts up` exits with 70, gives a reason, prints no name
# and leaves nothing behind.
no_ring_is_no_ring() {
    ring_down
    broken=$(mktemp -d "$top/build/XXXXXX")
    # This stand-in for ip records the networks that it makes, and fails to make cables. Its
    # commands come in batches.
    cat >"$broken/ip" <<'END'
#!/bin/sh
case "$*" in *-batch*) ;; *) exec "$IP" "$@" ;; esac
words=$(cat)
printf '%s\n' "$words" | sed -n 's/^netns add //p' >>"$MADE"
case $words in *'type veth'*) echo 'no cable' >&2; exit 2 ;; esac
printf '%s\n' "$words" | "$IP" "$@"
END
    # Other tests make and remove rings meanwhile, so mktemp records the folders of this one.
    cat >"$broken/mktemp" <<'END'
#!/bin/sh
"$MKTEMP" "$@" | tee -a "$MADE.folders"
END
    chmod 755 "$broken/ip" "$broken/mktemp"
    ip=$(command -v ip) mktemp=$(command -v mktemp)
    for words in '' 0 many -1 1001 '2 --driver none' '2 --suffix' '2 --unknown x' \
        '3 --broken ip'; do
        [ "$words" != '3 --broken ip' ] || words=3
        # shellcheck disable=SC2086  # words
        said=$(IP=$ip MKTEMP=$mktemp MADE=$broken/made PATH=$broken:$PATH \
            hosts up $words 2>"$broken/why")
        check "'up $words' ends with 70" equal $? 70
        check "'up $words' names no ring" equal "$said" ''
        check "'up $words' says why" holds "$(cat "$broken/why")" 'hosts.sh: up:'
    done
    check "the tool's own words stay" holds "$(cat "$broken/why")" 'no cable'
    check "networks were made" [ -s "$broken/made" ]
    check "no network is left" equal \
        "$(ip netns list | cut -d ' ' -f 1 | grep -Fxf "$broken/made")" ''
    check "a folder was made" [ -s "$broken/made.folders" ]
    check "no folder is left" equal \
        "$(while read -r made; do ls -d "$made" 2>/dev/null; done <"$broken/made.folders")" ''
    rm -r "$broken"
}

# A script that cannot make its ring must not exit with 0.
a_script_without_a_ring_fails() {
    said=$(sh -c 'top=$0; . "$top/tests/system/lib.sh"; ring 0; start_all -- true; finish' \
        "$top" 2>&1)
    check "it fails" equal $? 70
    check "it says so" holds "$said" 'nothing was tested'
}

CASES=${CASES:-hosts_can_read_the_repository_and_write_where_they_should
    a_host_that_is_started_again_has_said_nothing_yet a_host_that_has_ended_is_none_to_signal
    a_host_without_a_keeper_names_no_process_of_the_machine no_ring_is_no_ring
    a_script_without_a_ring_fails}
run_cases
finish
