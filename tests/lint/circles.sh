#!/bin/sh
# Checks that no file of common/, entrypoint/ or trainer/ depends on itself through other files,
# neither by its calls nor by the headers that it includes. A file is a .c with the .h of its name.
# Its calls are the undefined symbols of its object in BUILD (build/release), so that a call through
# the header of another file counts.
#
# usage: circles.sh [BUILD]
set -u
cd "$(dirname "$0")/../.." || exit 2
build=${1:-build/release}
work=$(mktemp -d) || exit 70
trap 'rm -rf "$work"' EXIT

files=$(git ls-files 'common/*.[ch]' 'entrypoint/*.[ch]' 'trainer/*.[ch]' |
    while read -r file; do [ ! -e "$file" ] || echo "$file"; done)
# The newest object of each source, without those of sources and rooms that were removed.
# shellcheck disable=SC2046,SC2012  # a list, of names that we gave
objects=$(ls -t $(find "$build/CMakeFiles" -path '*.dir/common/*.c.o' -o \
    -path '*.dir/entrypoint/*.c.o' -o -path '*.dir/trainer/*.c.o' 2>/dev/null) /dev/null |
    awk '{ source = $0; sub(/.*\.dir\//, "", source); sub(/\.o$/, "", source) }
        !seen[source]++ { print $0, source }' |
    while read -r object source; do
        [ "$object" = /dev/null ] || [ ! -e "$source" ] || echo "$object"
    done)
[ -n "$objects" ] || { echo "nothing is built in $build"; exit 1; }

# Lines of $work/known: a file, one that it depends on, and the header or function.
# shellcheck disable=SC2086  # a list
grep -H '^#include "' $files | awk -v files="$files" '
function stem(path) { sub(/\.[ch]$/, "", path); return path }
BEGIN {
    count = split(files, all, "\n")
    for (i = 1; i <= count; i++) if (all[i] ~ /\.h$/) place[all[i]] = stem(all[i])
}
{
    split($0, quoted, "\"")
    from = stem(substr($0, 1, index($0, ":") - 1))
    if (quoted[2] in place && place[quoted[2]] != from) print from, place[quoted[2]], quoted[2]
}' >"$work/known"
# shellcheck disable=SC2086  # a list
nm -A -P $objects | awk '
{
    file = $1
    sub(/.*\.dir\//, "", file)
    sub(/\.c\.o:$/, "", file)
    if ($3 == "U") used[file, $2] = 1
    else if ($3 ~ /[A-Z]/) place[$2] = file
}
END {
    for (pair in used) {
        split(pair, part, SUBSEP)
        if (part[2] in place && place[part[2]] != part[1])
            print part[1], place[part[2]], part[2] "()"
    }
}' >>"$work/known"

cut -d ' ' -f 1,2 "$work/known" | sort -u | tsort 2>"$work/loops" >/dev/null && exit 0
echo "these files include each other in a circle:"
sed -n 's/^tsort: \([^ ]*\)$/\1/p' "$work/loops" | sort -u >"$work/inside"
awk 'FNR == NR { inside[$1] = 1; next }
    $1 in inside && $2 in inside { print "  " $1 " -> " $2 ": " $3 }' \
    "$work/inside" "$work/known" | sort -u
exit 1
