# Turns before other work, for root: sourced by measurements. Programs go behind $PRIORITY.
#
# Linux shares the cores among sessions first (sched_autogroup), so the session is raised as well. It may be
# a user's terminal: priority_end, for the script's EXIT trap, gives it back what it had.
# shellcheck shell=sh disable=SC2034  # its user's
PRIORITY=
priority_had=
if [ "$(id -u)" = 0 ]; then
    PRIORITY="nice -n -20"
    priority_had=$(sed -n 's/.* nice //p' /proc/self/autogroup 2>/dev/null) || :
    [ -z "$priority_had" ] || echo -20 >/proc/self/autogroup 2>/dev/null || :
fi
priority_end() {
    [ -z "$priority_had" ] || echo "$priority_had" >/proc/self/autogroup 2>/dev/null || :
}
