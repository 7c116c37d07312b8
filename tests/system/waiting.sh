# How the tests' scripts wait for what others do: they look twenty times a second, and after a while, when a moment
# more is not much, five times. No process is started to know the time. Sourced.
# shellcheck shell=sh

now_ms() { date +%s%3N; }

uptime_seconds() {
    read -r up _ </proc/uptime
    up=${up%.*}
}

# begin_waiting SECONDS, then wait_on until it fails: those seconds are over.
begin_waiting() {
    uptime_seconds
    wait_until=$((up + $1 + 1)) # of a second that has begun
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
