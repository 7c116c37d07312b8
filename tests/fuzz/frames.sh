#!/bin/sh
# Checks that every kind of message (entrypoint/wire/messages.def) is sent in the sources, has a
# case in a receiver, and is parsed by the fuzz target of each receiver:
#
#   sh tests/fuzz/frames.sh FOLDER    the folder of the targets that replay their seeds
#
# The receivers of a kind are read from the sources. The targets list the kinds that they parse
# while they replay their seeds (frames.h). So a new kind needs a seed, and a target that parses it.
set -u
folder=${1:?the folder of the targets}
cd "$(dirname "$0")/../.." || exit 2
corpus=tests/fuzz/corpus
work=$(mktemp -d "${TMPDIR:-/tmp}/frames.XXXXXX")
trap 'rm -rf "$work"' EXIT
failed=0
say() {
    echo "$1"
    failed=1
}

# listener SOURCE: prints the receiver that SOURCE, which compares types of messages, belongs to.
listener() {
    case $1 in
    entrypoint/master/*) echo master ;;
    entrypoint/host/ranks/rank.c) echo shim ;;
    entrypoint/host/ranks/* | entrypoint/host/supervisor.c) echo supervisor ;;
    entrypoint/host/*) echo worker ;;
    entrypoint/wire/*) echo link ;;
    *) echo elsewhere ;;
    esac
}

sources=$(git ls-files --cached --others --exclude-standard 'entrypoint/*.c' |
    grep -v '^entrypoint/wire/message\.c$')
sed -n 's/^MESSAGE(\([A-Z_]*\), "\([a-z_]*\)".*/\1 \2/p' entrypoint/wire/messages.def >"$work/rows"
compared='(case|[!=]=) MESSAGE_[A-Z_]+'
# types: prints the names on the wire of the kinds in the input, one per line.
types() {
    sed 's/.*MESSAGE_//' | sort -u | while read -r kind; do
        sed -n "s/^$kind //p" "$work/rows" | grep . || say "MESSAGE_$kind is not in messages.def"
    done
}
# shellcheck disable=SC2086  # a list
sed -E "s/$compared//g" $sources | grep -oE 'MESSAGE_[A-Z_]+' | grep -vx MESSAGE_UNKNOWN | types |
    sort -u >"$work/sent"
for source in $sources; do
    who=$(listener "$source")
    grep -oE "$compared" "$source" | types | sed "s/^/$who /"
done >"$work/told_apart"
# The agent takes the only frame that arrives as its answer, whatever the type
# (entrypoint/mpi/agent.c).
echo 'agent leave' >>"$work/told_apart"
sort -u -o "$work/told_apart" "$work/told_apart"

for name in accept agent executor link master rank_set shim worker; do
    FRAMES_HEARD=$work/heard "$folder/fuzz_$name" "$corpus/$name" >/dev/null ||
        say "fuzz_$name does not replay its seeds"
done
sort -u -o "$work/heard" "$work/heard"
cut -d ' ' -f 2 "$work/heard" | sort -u >"$work/kinds"

for kind in $(comm -23 "$work/sent" "$work/kinds"); do
    say "no fuzz target parses a frame '$kind': add a seed that holds one to tests/fuzz/corpus (docs/contributing/add-a-message.md)"
done
comm -23 "$work/told_apart" "$work/heard" >"$work/missing"
while read -r who kind; do
    say "no fuzz target hands a frame '$kind' to the $who: add a seed of the $who's target (docs/contributing/add-a-message.md)"
done <"$work/missing"

# Every kind in the list is used. The minimal counts below show that the patterns above still match.
cut -d ' ' -f 2 "$work/rows" | sort -u >"$work/listed"
for kind in $(comm -23 "$work/listed" "$work/sent"); do
    say "a message '$kind' is in entrypoint/wire/messages.def and no source sends it with message_new or message_with"
done
cut -d ' ' -f 2 "$work/told_apart" | sort -u >"$work/received"
for kind in $(comm -23 "$work/listed" "$work/received"); do
    say "a message '$kind' is in entrypoint/wire/messages.def and no receiver has a case for it (docs/contributing/add-a-message.md says which may)"
done
[ "$(wc -l <"$work/listed")" -ge 47 ] ||
    say "only $(wc -l <"$work/listed") kinds of messages were found in the list"
[ "$(wc -l <"$work/told_apart")" -ge 46 ] ||
    say "only $(wc -l <"$work/told_apart") places that tell them apart were found"
echo "$(wc -l <"$work/sent") kinds are sent, $(wc -l <"$work/told_apart") are distinguished, $(
    wc -l <"$work/heard") heard by targets"
exit $failed
