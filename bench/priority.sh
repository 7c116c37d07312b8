# Gives root's measurements priority over other work. Scripts source this file and start programs
# with $PRIORITY before the command.
#
# Linux shares the cores among sessions first (sched_autogroup), so the session gets priority, too.
# It may be a user's terminal: the script's EXIT trap calls priority_end to restore it.
# shellcheck shell=sh disable=SC2034  # used by the scripts that source it
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
