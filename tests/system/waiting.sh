# How test scripts wait for others, to be sourced: they poll twenty times a second at first, and
# five times a second once a moment more does not matter. Reading the time starts no process.
# shellcheck shell=sh

now_ms() { date +%s%3N; }

uptime_seconds() {
    read -r up _ </proc/uptime
    up=${up%.*}
}

# begin_waiting SECONDS, then wait_on in a loop, which fails once those seconds are over.
begin_waiting() {
    uptime_seconds
    wait_until=$((up + $1 + 1)) # one more, as the current second has begun
    waits=0
}
wait_on() {
    uptime_seconds
    [ "$up" -lt "$wait_until" ] || return
    waits=$((waits + 1))
    if [ "$waits" -le 20 ]; then sleep 0.05
    elif [ "$waits" -le 40 ]; then sleep 0.1
    else sleep 0.2; fi
}
