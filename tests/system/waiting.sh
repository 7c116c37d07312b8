# How the tests' scripts wait for what others do: they look twenty times a second, and start no process to
# know the time. Sourced.
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
}
wait_on() {
    uptime_seconds
    [ "$up" -lt "$wait_until" ] && sleep 0.05
}
