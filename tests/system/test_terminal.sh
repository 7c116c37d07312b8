#!/bin/sh
# A job with its first host on a terminal of 80 columns, as `docker run -it` provides it: colours, a
# progress bar with the time left, and rows that fit. The logs of the other hosts are files and have
# none of that.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

command -v script >/dev/null 2>&1 || skip "no script(1) to make a terminal"
escape=$(printf '\033')
return_key=$(printf '\r')

# The program reports 24 steps (docs/guides/your-program.md) and prints every eighth. All numbers
# are below 256.
program='
    number() { printf "%b" "\\0$(printf %o "$1")\\0\\0\\0\\0\\0\\0\\0"; }
    step=0
    while [ $step -lt 24 ]; do
        step=$((step + 1))
        { number $step; number $step; number 60; number 0; number 0; number 24; } |
            dd of="$RINGMASTER_PROGRESS" bs=48 iflag=fullblock conv=notrunc status=none
        [ $((step % 8)) -ne 0 ] || echo "at step $step"
        sleep 0.25
    done'

# on_terminal [-e NAME=VALUE]...: runs three hosts with one rank each, the first one on a terminal.
on_terminal() {
    ring 3
    printf 'stty cols 80 rows 24\nexec train -- sh %s\n' "$share/program" >"$share/begin"
    echo "$program" >"$share/program"
    hosts start 1 -e RINGMASTER_LAUNCHER=direct "$@" -- script -qec "sh $share/begin" /dev/null
    for host in 2 3; do
        hosts start "$host" -e RINGMASTER_LAUNCHER=direct "$@" -- train -- sh "$share/program"
    done
    all_end "$PATIENCE" 0 $everyone
}

# The terminal's output without colours; each row, and each one that replaces it, is a line.
rows() { hosts log 1 | tr '\r' '\n' | sed "s/$escape\[[0-9;]*[A-Za-z]//g"; }
widest() { rows | awk '{ if (length($0) > most) most = length($0) } END { print most + 0 }'; }

# those_of_files: the logs of the other hosts have what belongs in files.
those_of_files() {
    for host in 2 3; do
        check "host $host's log has no escapes" lacks "$(hosts log "$host")" "$escape"
        check "and whole times" holds "$(hosts log "$host")" 'Z info '
        check "and its rank's lines" holds "$(hosts log "$host")" \
            "[algo-$host rank $((host - 1))] at step 16"
    done
}

a_terminal_has_colours_and_a_bar() {
    on_terminal -e TERM=xterm || return
    check "the time is dim" holds "$(hosts log 1)" "${escape}[2m"
    check "the bar has a colour" holds "$(hosts log 1)" "${escape}[36m"
    check "it shows steps and the time left" matches_row '] step [0-9]*/24  3 ranks  0:0[0-9] left'
    check "no row is wider than the terminal" at_most "$(widest)" 80
    check "a rank's line stands alone" equal "$(rows | grep -c '^\[algo-1 rank 0\] at step 16$')" 1
    check "the verdict ends the log" holds "$(rows | grep -v '^$' | tail -n 1)" \
        'algo-1: done: all 3 ranks ended with 0'
    those_of_files
}
matches_row() { rows | grep -q -e "$1"; }

a_terminal_without_colours_has_the_bar() {
    on_terminal -e TERM=xterm -e NO_COLOR=1 || return
    check "nothing has a colour" equal "$(hosts log 1 | grep -c "$escape\[[0-9;]*m")" 0
    check "the bar is there" matches_row '] step [0-9]*/24  3 ranks  0:0[0-9] left'
    check "no row is wider than the terminal" at_most "$(widest)" 80
    those_of_files
}

a_dumb_terminal_has_lines_alone() {
    on_terminal -e TERM=dumb || return
    check "there are no escapes" lacks "$(hosts log 1)" "$escape"
    check "nothing is written over" equal "$(hosts log 1 | grep -c "$return_key.")" 0
    check "there is no bar" lacks "$(hosts log 1)" ' left'
    check "the rank's lines are there" holds "$(hosts log 1)" '[algo-1 rank 0] at step 24'
    those_of_files
}

CASES=${CASES:-a_terminal_has_colours_and_a_bar a_terminal_without_colours_has_the_bar
    a_dumb_terminal_has_lines_alone}
run_cases
finish
