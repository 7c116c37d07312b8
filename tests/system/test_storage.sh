#!/bin/sh
# What the launcher writes and prints when a disk stalls, is full or read-only, or the log is read
# slowly; and secrets, which must appear nowhere.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

[ "$DRIVER" = ns ] || skip "these hosts mount file systems of their own"

SOON=$PATIENCE
# The promised time from a rank's end to the verdict, plus the time that leaving may take, whatever
# the disk does.
STALLED_MS=$((1500 + LEAVE_MS))
stall=$(dirname "$RINGMASTER_BIN")/tests/stall.so
kept() { cat "$(hosts opt "$1")/model/$2" 2>/dev/null; }

# one_odd_host MOUNT PREPARE: the first host runs MOUNT before the job, and its first process copies
# the failure file after it; the second host is an ordinary one. Rank 1 fails with 7 after PREPARE.
one_odd_host() {
    mount=$1 prepare=$2
    ring 2
    program="$prepare; [ \$RANK = 0 ] && exec sleep 60; sleep 1; echo the cause; exit 7"
    hosts start 2 -- train -- sh -c "$program"
    hosts start 1 -p "$mount" -- sh -c '
        train -- sh -c "$0"
        code=$?
        cp /opt/ml/output/failure /opt/ml/model/failure 2>/dev/null
        ls -A /opt/ml/output >/opt/ml/model/names
        exit $code' "$program"
}

both_tell_the_cause() {
    all_end "$SOON" 7 1 2 || return
    all_name 'algo-2 rank 1: exited with 7' 2
    check "the odd host tells the cause, too" holds "$(hosts log 1)" 'algo-2 rank 1: exited with 7'
}

# If /run is read-only, the next folder for sockets is used, and the job does not fail.
run_is_read_only() {
    ring 2
    hosts start 2 -- train -- sh -c 'echo runs'
    hosts start 1 -p 'mount -t tmpfs -o ro none /run' -- train -- sh -c 'echo runs'
    all_end "$SOON" 0 1 2
}

# On a hardened host, memory that a program asks for as a file may never be executed: with 1 the
# kernel adds a seal, with 2 it refuses a request that does not say so.
no_memory_is_executable() {
    [ -e /proc/sys/vm/memfd_noexec ] || { skip_case "no vm.memfd_noexec here"; return; }
    ring 2
    for host in 1 2; do
        hosts start $host -p "echo $host >/proc/sys/vm/memfd_noexec" -- train -- sh -c 'echo runs'
    done
    all_end "$SOON" 0 1 2 || return
    check "the second host runs with 2" holds "$(hosts log 2)" 'runs'
}

the_disk_stalls() {
    ring 2
    program='[ $RANK = 0 ] && exec sleep 60
        sleep 1; echo "$$ $(date +%s%3N)" >"$0/failed-1"; echo the cause; exit 7'
    hosts start 2 -- train -- sh -c "$program" "$share"
    hosts start 1 -e LD_PRELOAD="$stall" -e STALL_SECONDS=20 -- train -- sh -c "$program" "$share"
    fault_begins
    both_tell_the_cause
    within "$STALLED_MS" 1 2
    check "it says that the file is missing" holds "$(hosts log 1)" \
        'the failure file was not written: the disk did not answer in time'
}

the_disk_stalls_at_the_end_of_a_good_job() {
    ring 2
    for host in 1 2; do
        hosts start $host -e LD_PRELOAD="$stall" -e STALL_SECONDS=20 -- \
            train -- sh -c 'echo "$$ $(date +%s%3N)" >"$0/out-$RANK"' "$share"
    done
    fault_begins
    all_end "$SOON" 0 1 2 || return
    from_the_last_rank
    within "$STALLED_MS" 1 2
}

# The disk itself freezes: a process that writes to it is in uninterruptible sleep, cannot be
# killed, and keeps the host's PID namespace alive. The other host has ended by then; this one exits
# with the right code once the disk thaws. The disk is mounted on this machine, too, so that it can
# be thawed in any case.
the_disk_freezes() {
    ring 2
    truncate -s 8M "$share/disk"
    mkdir "$RING/thaw"
    loop=
    if ! mkfs.ext4 -q "$share/disk" || ! loop=$(losetup -f --show "$share/disk") ||
        ! mount "$loop" "$RING/thaw"; then
        [ -z "$loop" ] || losetup -d "$loop"
        skip_case "no loop devices here"
        return
    fi
    program="[ \$RANK = 0 ] && { fsfreeze -f /opt/ml/output; touch $share/frozen; exec sleep 60; }
        until [ -e $share/frozen ]; do sleep 0.1; done; echo the cause; exit 7"
    hosts start 2 -- train -- sh -c "$program"
    as_root "only root freezes a disk"
    hosts start 1 -p "mount $loop /opt/ml/output" -- train -- sh -c "$program"
    check "the other host ends" hosts wait "$SOON" 2
    check "the other host's code" equal "$(hosts code 2)" 7
    all_name 'algo-2 rank 1: exited with 7' 2
    check "the verdict is in the log" wait_for "$PATIENCE" grep -q 'exited with 7; leaving with 7' \
        "$RING/host-1/log"
    sleep 4
    check "this one is held by its disk" [ ! -e "$RING/host-1/code" ]
    check "the disk thaws" fsfreeze -u "$RING/thaw"
    check "this one ends with the disk's return" hosts wait "$SOON" 1
    check "its code" equal "$(hosts code 1)" 7
    umount "$RING/thaw"
    losetup -d "$loop"
}

the_disk_is_full() {
    one_odd_host 'mount -t tmpfs -o size=64k full /opt/ml/output' \
        'dd if=/dev/zero of=/opt/ml/output/fill bs=1k count=100 2>/dev/null; [ $RANK = 1 ] ||
         dd if=/dev/zero of=/opt/ml/output/rest bs=1 count=4096 2>/dev/null'
    both_tell_the_cause
    check "the story fits into the reserve" holds "$(kept 1 failure)" 'algo-2 rank 1: exited with 7'
    check "with the last words" holds "$(kept 1 failure)" 'the cause'
    check "the disk was full" holds "$(kept 1 names)" fill
    check "no reserve is left" lacks "$(kept 1 names)" reserve
}

the_disk_is_read_only() {
    one_odd_host 'mount -t tmpfs -o ro full /opt/ml/output' :
    both_tell_the_cause
    check "it says that the file is missing" holds "$(hosts log 1)" 'failure file was not written'
}

a_good_job_leaves_neither_story_nor_reserve() {
    ring 2
    start_all -- train -- true
    all_end "$SOON" 0 1 2
    for host in 1 2; do
        check "beside the event log the mark of success is left on host $host alone" equal \
            "$(find "$(hosts opt "$host")/output" -type f -printf '%f\n' | sort | tr '\n' ' ')" \
            "events-algo-$host.jsonl success "
        check "host $host's last event is the verdict" holds \
            "$(tail -n 1 "$(hosts opt "$host")/output/data/events-algo-$host.jsonl")" \
            '"event":"verdict","code":0'
    done
}

the_folder_for_sockets_has_no_room() {
    ring 2
    program='echo in $(ls -d /tmp/ringmaster-run-*)'
    for host in 1 2; do
        hosts start $host -p 'mount -t tmpfs -o size=4k,mode=1777 tiny /run &&
            mount -t tmpfs -o size=4k,mode=1777 tiny /dev/shm' -- train -- sh -c "$program"
    done
    all_end "$SOON" 0 1 2
    check "it lies elsewhere" holds "$(hosts log 1)" 'in /tmp/ringmaster-run-'
}

# slowly COMMAND: runs it as a child of the host's first process and reads its output at 16 KB/s.
slowly() {
    ring 1
    hosts start 1 -- sh -c '{ "$@"; echo $? >/opt/ml/model/code; } 2>&1 | perl -e "
        \$| = 1;
        while (sysread(STDIN, \$b, 1638)) { print \$b; select(undef, undef, undef, 0.1) }"' \
        sh "$@"
    check "the host ends" hosts wait 60
}

the_log_is_read_slowly() {
    slowly train -- sh -c 'yes "a line that nobody needs, of which there are far too many" |
        head -n 400000; echo "the real cause" >&2; exit 9'
    check "the code is right" equal "$(kept 1 code)" 9
    log=$RING/host-1/log
    check "the cause comes out" grep -q 'the real cause$' "$log"
    check "the failure file has it" holds "$(failure_of 1)" 'the real cause'
    check "the verdict comes out" grep -q 'leaving with 9$' "$log"
    check "the count comes out" grep -q 'lines dropped here' "$log"
    check "no line is broken" equal "$(grep -v '  | ' "$log" | grep -c nobody)" \
        "$(grep -c 'rank 0\] a line that nobody needs, of which there are far too many$' "$log")"
    told=$(sed -n 's/.* dropped here, \([0-9]*\) in all.*/\1/p' "$log" | tail -n 1)
    check "lines and count agree" equal "$((told + $(grep -c 'rank 0\]' "$log")))" 400001
}

a_line_is_very_long() {
    ring 2
    start_all -e RINGMASTER_LOGS=master -- train -- sh -c '
        [ $RANK = 1 ] || exit 0
        perl -e "print qq(\\\\) x 60000, qq(\n), qq(x) x 1048576, qq(\n),
            qq(y) x 1200000, qq(\nnext\n)"'
    all_end "$SOON" 0 1 2
    log=$RING/host-1/log
    check "60,000 bytes come whole" equal \
        "$(awk '/rank 1\] \\\\/ { sub(/^[^\]]*\] /, ""); print length($0) }' "$log")" 60000
    check "1 MiB comes whole" equal \
        "$(awk '/rank 1\] x/ { sub(/^[^\]]*\] /, ""); print length($0) }' "$log")" 1048576
    check "what is longer is one line with a mark" equal \
        "$(grep -c 'rank 1\] y*y \[cut: the line has 1200000 bytes\]$' "$log")" 1
    check "the next line is whole" grep -q 'rank 1\] next$' "$log"
    check "there are no more" equal "$(grep -c 'rank 1\]' "$log")" 4
}

# --- secrets -----------------------------------------------------------------------------------

# write_scanner HOST: writes that host's program, which reports every canary that is where it should
# not be. Its own command line may have some: those of hyperparameters.
write_scanner() {
    cat >"$(hosts opt "$1")/code/scan.sh" <<'END'
mark=can
mark=${mark}ary-
for line in /proc/[0-9]*/cmdline; do
    words=$(cat "$line" 2>/dev/null | tr '\0' ' ')
    case $words in *scan.sh*) ;; *$mark*) echo "found in a command line: ${words%% *}" ;; esac
done
grep -rl $mark /run /tmp /var/tmp /dev/shm /opt/ml/output /opt/ml/model 2>/dev/null |
    sed 's/^/found in /'
words=0
for word; do case $word in $mark*) words=$((words + 1)) ;; esac; done
echo "secrets seen: $(env | grep -c $mark) in variables, $words in words"
: >"$TEST_SHARE/told-$RANK"
# A failure ends the other ranks, so all have reported before.
fails() {
    until [ "$(find "$TEST_SHARE" -name 'told-*' | wc -l)" -ge "$WORLD_SIZE" ]; do sleep 0.1; done
    exit 5
}
case $* in *"--end fail"*) fails ;; *"--end wait"*) touch /opt/ml/model/waits; exec sleep 60 ;; esac
END
}

# The variables are NAME_01 to NAME_09, SM_HPS, SM_USER_ARGS and SM_TRAINING_ENV: a shell passes on
# no variable with a hyphen in its name, such as that of api-token-01.
SECRETS='12 in variables, 10 in words'

# secret_job END SCRIPT: every host runs SCRIPT with 20 canaries in variables, hyperparameters and
# the key, and with two ranks, so that mpirun is used.
secret_job() {
    variables=
    for n in 01 02 03 04 05 06 07 08 09; do variables="$variables -e NAME_$n=canary-v$n"; done
    parameters='"sagemaker_program": "scan.sh", "sagemaker_mpi_num_of_processes_per_host": "2"'
    for n in 01 02 03 04 05; do
        parameters="$parameters, \"api-token-$n\": \"canary-t$n\", \"name-$n\": \"canary-p$n\""
    done
    for host in $everyone; do
        mkdir -p "$(hosts opt "$host")/code"
        write_scanner "$host"
        printf '{%s, "end": "%s"}' "$parameters" "$1" >"$(config "$host")/hyperparameters.json"
    done
    # shellcheck disable=SC2086  # words
    start_all $variables -e "TEST_SHARE=$share" -e RINGMASTER_KEY=canary-of-the-control-link \
        -e RINGMASTER_REQUIRE_KEY=1 -- sh -c "$2"
}

nothing_is_found() {
    for host in $everyone; do
        seen=$(hosts log "$host" | sed -n 's/^\[.* rank [0-9]*\] secrets seen: //p')
        check "both programs of host $host say what they have" at_least "$(echo "$seen" | wc -l)" 2
        check "each program has its secrets" equal "$(echo "$seen" | sort -u)" "$SECRETS"
        check "no secret where none belongs" lacks "$(hosts log "$host")" 'found in '
        check "no secret in the log" lacks "$(hosts log "$host")" canary-
        check "no secret in the failure file" lacks "$(failure_of "$host")" canary-
        nothing_lies_on_disk "$host"
    done
}

nothing_lies_on_disk() {
    check "no secret on the disk of host $1" equal \
        "$(grep -rl canary- "$RING/host-$1/root" | grep -v input/config/hyperparameters.json)" ''
}

secrets_are_nowhere_after_a_good_end() {
    ring 2
    secret_job good 'exec train'
    all_end "$SOON" 0 1 2
    nothing_is_found
}

secrets_are_nowhere_after_a_failure() {
    ring 2
    secret_job fail 'exec train'
    all_end "$SOON" 5 1 2
    nothing_is_found
}

# A process that crashes may leave its memory in a core file where the container allows that: all
# processes of the launcher are made to crash.
secrets_are_in_no_core_file() {
    as_root "only root finds all processes of ours"
    ring 2
    secret_job wait '
        ulimit -c unlimited; cd /tmp
        sh -c "kill -s SEGV \$\$"; ls core* >/opt/ml/model/dumped; rm -f core*
        train & until [ -e /opt/ml/model/waits ] || ! kill -0 $!; do sleep 0.1; done
        ours=$(for p in /proc/[0-9]*; do
            case $(readlink $p/exe) in */ringmaster) echo ${p#/proc/} ;; esac
        done)
        kill -s SEGV $ours
        wait
        [ $(echo $ours | wc -w) -lt 3 ] || echo "three and more have crashed"'
    check "hosts end" hosts wait "$SOON" 1 2 || return
    for host in $everyone; do
        [ -s "$(hosts opt "$host")/model/dumped" ] || {
            skip_case "crashes leave no core files here"
            return
        }
        check "no core file is left on host $host" equal \
            "$(find "$RING/host-$host/root" -name 'core*' -size +0)" ''
        nothing_lies_on_disk "$host"
    done
    # If one host is faster, the other one may have no processes left that could crash.
    check "processes of ours have crashed" holds "$(hosts log 1; hosts log 2)" \
        'three and more have crashed'
}

# The commands that describe a job do so without its secrets.
secrets_are_nowhere_in_a_check() {
    ring 1
    secret_job good \
        'ringmaster plan; ringmaster check; ringmaster check --json; ringmaster version --all'
    all_end "$SOON" 0 1
    log=$(hosts log 1)
    check "the plan was printed" holds "$log" '"settings"'
    check "the check, too" holds "$log" '"rows":['
    # The log has the program's arguments, except those with names that mark them as secrets.
    for kind in canary-t canary-v canary-of; do
        check "no secret in the log: $kind" lacks "$log" $kind
    done
    nothing_lies_on_disk 1
}

# The second run is in the same container, where the first one has left files. They hold no secret,
# and the second run removes them.
secrets_are_nowhere_after_a_kill() {
    ring 1
    secret_job wait '
        train & first=$!
        until [ -e /opt/ml/model/waits ]; do sleep 0.1; done
        kill -KILL $first
        wait $first
        grep -rl "can[a]ry-" /run /tmp /var/tmp /dev/shm | sed "s/^/found in /"
        echo "left: $(find /run /tmp /dev/shm -name "ringmaster-run-*" | wc -l)"
        sed -i "s/wait/good/" /opt/ml/input/config/hyperparameters.json
        train
        code=$?
        find /run /tmp /dev/shm -name "ringmaster-*" | sed "s/^/found in /"
        exit $code'
    all_end "$SOON" 0 1
    check "the first run left something" lacks "$(hosts log 1)" 'left: 0'
    nothing_is_found
}

# OpenSSL is configured to speak no TLS 1.3, and the job runs all the same.
no_openssl_configuration_counts() {
    ring 2
    cat >"$share/openssl.cnf" <<'END'
openssl_conf = all
[all]
ssl_conf = ssl
[ssl]
system_default = tls
[tls]
MaxProtocol = TLSv1.2
END
    start_all -e OPENSSL_CONF="$share/openssl.cnf" -e RINGMASTER_READY_SECONDS=10 -- train -- true
    all_end "$SOON" 0 1 2
}

closed_streams_stay_closed() {
    ring 1
    hosts start 1 -- sh -c 'exec train -- sh -c "echo out; exit 4" <&- >&- 2>&-'
    all_end "$SOON" 4 1
    check "the story is in the file" holds "$(failure_of 1)" 'exited with 4'
}

CASES=${CASES:-run_is_read_only no_memory_is_executable the_disk_stalls
    the_disk_stalls_at_the_end_of_a_good_job the_disk_freezes the_disk_is_full the_disk_is_read_only
    a_good_job_leaves_neither_story_nor_reserve the_folder_for_sockets_has_no_room
    the_log_is_read_slowly a_line_is_very_long secrets_are_nowhere_after_a_good_end
    secrets_are_nowhere_after_a_failure secrets_are_in_no_core_file secrets_are_nowhere_after_a_kill
    secrets_are_nowhere_in_a_check no_openssl_configuration_counts closed_streams_stay_closed}
run_cases
finish
