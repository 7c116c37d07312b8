#!/bin/sh
# Whether every kind of frame (entrypoint/wire/frame.h) is parsed by a fuzz target, by each of those who hear it:
#
#   sh tests/fuzz/frames.sh FOLDER    which has the targets as they replay their seeds
#
# What there is to hear is read from the sources: a kind that is sent (frame_new, frame_with) and one that is told apart
# from others (strcmp with the type), there. What is heard the targets say while they replay (frames.h). So a new kind
# needs a seed, and a target that does not leave it out.
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

# Who reads the words that a source compares types with.
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

sources=$(git ls-files --cached --others --exclude-standard 'entrypoint/*.c')
# shellcheck disable=SC2086  # a list
{
    grep -ohE '(frame_new|frame_with|frame_new_for)\(([^"()]*, )?"[a-z]+"' $sources | sed 's/.*"\([a-z]*\)"/\1/'
    grep -ohE 'crew_sinks_tell\([^"]*, "[a-z]+"' $sources | sed 's/.*"\([a-z]*\)"/\1/'
} | sort -u >"$work/sent"
for source in $sources; do
    who=$(listener "$source")
    grep -oE 'strcmp\((type|frame_type\([a-z]+\)), "[a-z]+"\)' "$source" | sed "s/.*\"\([a-z]*\)\".*/$who \1/"
done >"$work/told_apart"
# The agent takes the only frame that comes for its answer, whatever its type (entrypoint/mpi/agent.c).
echo 'agent leave' >>"$work/told_apart"
sort -u -o "$work/told_apart" "$work/told_apart"

for name in accept agent executor link master rank_set shim worker; do
    FRAMES_HEARD=$work/heard "$folder/fuzz_$name" "$corpus/$name" >/dev/null ||
        say "fuzz_$name does not replay its seeds"
done
sort -u -o "$work/heard" "$work/heard"
cut -d ' ' -f 2 "$work/heard" | sort -u >"$work/kinds"

for kind in $(comm -23 "$work/sent" "$work/kinds"); do
    say "no fuzz target parses a frame '$kind'"
done
comm -23 "$work/told_apart" "$work/heard" >"$work/missing"
while read -r who kind; do
    say "no fuzz target hands a frame '$kind' to the $who"
done <"$work/missing"

# A pattern above that finds no more what it is there for proves nothing.
[ "$(wc -l <"$work/sent")" -ge 38 ] || say "only $(wc -l <"$work/sent") kinds of frames were found in the sources"
[ "$(wc -l <"$work/told_apart")" -ge 46 ] || say "only $(wc -l <"$work/told_apart") places that tell them apart were found"
echo "$(wc -l <"$work/sent") kinds are sent, $(wc -l <"$work/told_apart") are told apart, $(wc -l <"$work/heard") heard by targets"
exit $failed
