#!/bin/sh
# Peers without the key: scanners, a flood of connections, another job's host of the same name. None
# of them ends a job, keeps a host out or becomes the reason in a verdict, even where there are few
# file descriptors.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

# flood HOST COUNT OPEN: makes COUNT connections to the control port of algo-1 as fast as possible,
# each within a second, and keeps the last OPEN of them open. Then the share has the file `flooded`.
# The program is in Perl, which every Debian has.
flood() {
    hosts start "$1" -- perl -MIO::Socket::INET -e '
        my ($count, $open, $share) = @ARGV;
        my (@all, $made);
        for my $i (1 .. $count) {
            my $s = IO::Socket::INET->new(PeerAddr => "10.77.0.1", PeerPort => 7070,
                Timeout => 1) or next;
            syswrite($s, "GET / HTTP/1.0\r\n\r\n") if $i % 3 == 0;
            push @all, $s;
            shift @all if @all > $open;
            $made++;
        }
        print "made $made\n"; $| = 1;
        open(my $over, ">", "$share/flooded");
        sleep 1;' "$2" "$3" "$share"
}

# flooded HOW: the flood is over, and was large enough.
flooded() {
    check "the flood ends" hosts wait 90 3
    made=$(hosts log 3 | sed -n 's/^made //p')
    echo "  $1: a flood of $made connections"
    check "it was a flood, $1" at_least "${made:-0}" 5000
}

# it_has_come: the master has turned away a connection of the flood.
it_has_come() {
    check "the flood has come" wait_for "$PATIENCE" says 1 'a stranger at 10.77.0.3 was turned away'
}

# ours HOST LIMIT ARGS...: starts a host of a job of two, with so many file descriptors; its rank's
# process ID is written to the share. An attempt runs until the flood is over, and the first one
# until the share has the file `$until`.
until=flooded
ours() {
    host=$1 limit=$2
    shift 2
    hosts start "$host" -e RINGMASTER_HOSTS=algo-1,algo-2 -e "RINGMASTER_HOST=algo-$host" \
        -e RINGMASTER_READY_SECONDS=60 "$@" -- sh -c "ulimit -n $limit; exec train -- sh -c '
            echo \$\$ >$share/rank-\$RANK; i=0
            [ \$RINGMASTER_ATTEMPT = 1 ] && awaited=$until || awaited=flooded
            until [ -e $share/\$awaited ] || [ \$i -gt 600 ]; do i=\$((i + 1)); sleep 0.1; done'"
}

ten_thousand_connections_while_hosts_join() {
    for limit in 256 400 1024; do
        ring 3
        ours 1 "$limit"
        check "host 1 waits" wait_for "$PATIENCE" says 1 'waiting for 1 host' || return
        flood 3 10000 800
        it_has_come || return
        ours 2 "$limit"
        all_end 90 0 1 2
        flooded "with $limit descriptors"
        check "strangers are logged seldom" at_most "$(hosts log 1 | grep -c 'a stranger at')" 3
    done
}

# The second attempt opens files of its own while the flood goes on.
a_flood_while_a_job_runs_and_is_launched_again() {
    ring 3
    until=never
    for host in 1 2; do
        ours "$host" 400 -e RINGMASTER_RESTARTS=1
    done
    until=flooded
    check "ranks have started" wait_for "$PATIENCE" says 1 'ranks have started' || return
    check "the second is at work" wait_for "$PATIENCE" test -s "$share/rank-1" || return
    flood 3 10000 800
    it_has_come || return
    check "a rank is killed" hosts exec 2 sh -c 'kill -s KILL "$0"' "$(cat "$share/rank-1")"
    all_end 90 0 1 2
    check "it was launched again" holds "$(hosts log 1)" 'attempt 2 of 2'
    flooded "while it ran"
}

# A `GET /` while a host is missing is not taken for a host with another key.
a_scanner_is_not_the_reason_that_a_host_is_missing() {
    ring 3
    hosts start 1 -e RINGMASTER_HOSTS=algo-1,algo-2 -e RINGMASTER_READY_SECONDS=10 -- train -- true
    check "host 1 waits" wait_for "$PATIENCE" says 1 'waiting for 1 host' || return
    flood 3 3 1
    all_end "$PATIENCE" 69 1
    check "the scanner ends" hosts wait "$PATIENCE" 3
    check "the scanner came" equal "$(hosts log 3)" 'made 3'
    check "the verdict does not tell of keys" lacks "$(failure_of 1)" 'key'
}

# Two jobs have an algo-1, as two concurrent jobs of SageMaker's local mode do: the other job's is
# up first, and this job's comes later.
another_jobs_host_answers_first() {
    ring 3
    echo '10.77.0.3 algo-1' >>"$RING/hosts"
    hosts start 3 -e RINGMASTER_HOSTS=algo-1,algo-9 -e RINGMASTER_HOST=algo-1 \
        -e RINGMASTER_JOB=other -e RINGMASTER_READY_SECONDS=30 -- train -- true
    check "the other job waits" wait_for "$PATIENCE" says 3 'waiting for 1 host' || return
    echo '10.77.0.1 algo-1' >>"$RING/hosts"
    hosts start 2 -e RINGMASTER_HOSTS=algo-1,algo-2 -e RINGMASTER_JOB=ours -- train -- true
    check "the refusal is logged" wait_for "$PATIENCE" \
        says 2 'algo-1 at 10.77.0.3 refuses this host'
    sleep 6
    hosts start 1 -e RINGMASTER_HOSTS=algo-1,algo-2 -e RINGMASTER_JOB=ours -- train -- true
    all_end "$PATIENCE" 0 1 2
    all_end "$PATIENCE" 69 3
}

CASES=${CASES:-ten_thousand_connections_while_hosts_join
    a_flood_while_a_job_runs_and_is_launched_again
    a_scanner_is_not_the_reason_that_a_host_is_missing another_jobs_host_answers_first}
run_cases
finish
