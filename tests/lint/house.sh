#!/bin/sh
# Checks the rules of the house that no compiler checks:
#   every source of common/ and entrypoint/ has a twin test, no file has more than 500 lines, at
#   most ten sources have less than 30, no folder has more than 20 sources at its top, headers are
#   included by their path in the tree, which is also the name of their guard, files that comments
#   name exist, a public struct's name is unique, a suite is named after its file, only
#   entrypoint/mpi uses Open MPI's names, each platform has a whole job in the system tests, and
#   unit tests do not sleep.
# Includes of rooms that a room does not use fail to compile (cmake/Room.cmake).
set -u
cd "$(dirname "$0")/../.." || exit 2
failed=0
say() {
    echo "$1"
    failed=1
}

for source in $(git ls-files 'common/*.c' 'entrypoint/*.c' 2>/dev/null); do
    [ -e "$source" ] || continue
    name=${source##*/}
    [ "$name" = main.c ] && continue
    twin="tests/unit/${source%/*}/test_$name"
    [ -e "$twin" ] || say "$source has no twin: $twin"
done

# Each platform runs in a whole job, in its own case or by a call of `asked`.
jobs=tests/system/test_platforms.sh
for platform in $(sed -nE 's/^ +\{\.name = "([a-z0-9-]+)",.*/\1/p' \
    entrypoint/job/cluster/platform_table.c); do
    case=$(echo "$platform" | tr - _)
    grep -qE "^ +asked $platform " $jobs ||
        { grep -q "^$case()" $jobs && sed -n '/^CASES=/,$p' $jobs | grep -qw "$case"; } ||
        say "platform $platform has no whole job: add a function $case to $jobs, and its name to CASES there"
done

# For most rules, a single command finds the violations in a list of all files.
files=$(git ls-files '*.c' '*.h' '*.def' '*.cu' '*.cuh' 2>/dev/null |
    while read -r file; do [ ! -e "$file" ] || echo "$file"; done)
product=$(echo "$files" | grep -v '^tests/')
# shellcheck disable=SC2086  # lists
if [ -n "$files" ]; then
    long=$(awk 'FNR == 501 { print FILENAME }' $files)
    [ -z "$long" ] || say "more than 500 lines: $long"
    # Most sources of a few lines belong to a file with the same subject.
    short=$(echo "$product" | grep -E '^(common|entrypoint|trainer)/.*\.(c|cu)$' | xargs wc -l |
        awk '$2 != "total" && $1 < 30 { print $2 }')
    [ "$(echo "$short" | wc -l)" -le 10 ] ||
        say "more than ten sources of less than 30 lines, which should join others: $short"
    crowded=$(echo "$product" | grep -E '\.(c|cu)$' | sed 's,/[^/]*$,,' | sort | uniq -c |
        awk '$1 > 20 { print $2 ": " $1 }')
    [ -z "$crowded" ] ||
        say "more than 20 sources at the top of a folder, which should become rooms: $crowded"
    # The name of a struct that a header declares is unique, so that a search leads to one place.
    twice=$(awk 'match($0, /^struct [a-z0-9_]+ \{/) {
            places[$2] = places[$2] " " FILENAME
            count[$2]++
            if (FILENAME ~ /\.(h|cuh)$/) public[$2] = 1
        }
        END {
            for (name in public) if (count[name] > 1) print "struct " name ":" places[name]
        }' $product)
    [ -z "$twice" ] || say "declared in a header and once more, which wants another name: $twice"
    # A suite is named after its file, so that the name of a failing test leads to the file.
    misnamed=$(awk 'match($0, /^UNIT_SUITE\("[a-z0-9_.]+"/) {
            suite = substr($0, RSTART + 12, RLENGTH - 13)
            file = FILENAME
            sub(/.*\./, "", suite)
            sub(/.*\/test_/, "", file)
            if (file != suite ".c") print FILENAME ": " suite
        }' $files)
    [ -z "$misnamed" ] || say "a suite that is not called after its file: $misnamed"
    # shellcheck disable=SC2013  # paths without blanks
    for path in $(sed -nE 's/^ *# *include "([^"]+)".*/\1/p' $files | sort -u); do
        [ -e "$path" ] || say "not a path in the tree: #include \"$path\""
    done
    # The first #ifndef of a header is its guard. Tables of golden values have none.
    # shellcheck disable=SC2046  # paths without blanks
    guards=$(awk 'FNR == 1 { guarded = 0 }
        !guarded && /^#ifndef [A-Z]/ {
            guarded = 1
            guard = toupper(FILENAME)
            gsub(/[^A-Z0-9]/, "_", guard)
            if ($2 != guard) print FILENAME ": " $2
        }' $(echo "$files" | grep '\.h$'))
    [ -z "$guards" ] || say "a guard that is not named after its header: $guards"
    # Files of the repository that comments name exist. The headers in the pattern are foreign ones.
    paths=$(git ls-files | sed 's,^,/,')
    for name in $(sed -nE '/^ *#/d; s,^.*(/\*|//),,p; t; s,^ *\* ,,p' $files |
        grep -oP '(?<![\w./])[a-z0-9_/]+\.(c|h|cuh|cu|def)\b(?!\.\w)' |
        grep -vxE '(.*/)?(mpi|nccl|driver_types|jpeglib|stdio|roi_align_common)\.h' | sort -u); do
        echo "$paths" | grep -q "/$name\$" ||
            say "a comment names a file that is not there: $(grep -nF -- "$name" $files |
                head -n 3)"
    done
    # A variable that is cleaned up at the end of a function has a value before the first return.
    # shellcheck disable=SC2016  # awk's
    awk '/^}/ { delete open }
        /^ +cleanup_[a-z]+ [a-z_ ]*[ *][a-z_]+;$/ {
            name = $NF
            gsub(/[*;]/, "", name)
            open[name] = FNR
            next
        }
        { for (name in open) if ($0 ~ "[^a-z_>.]" name "[^a-z_]") delete open[name]
          else if ($0 ~ /return/) {
              printf "%s:%d: no value at the return in line %d\n", FILENAME, open[name], FNR
              delete open[name]
              bad = 1
          } }
        END { exit bad }' $files || say "a variable is cleaned up that may have no value"
    mpi=$(echo "$product" | grep '^entrypoint/' | grep -vE '^entrypoint/(mpi|job/cluster)/')
    grep -n 'OMPI_' $mpi &&
        say "these know Open MPI's names, which entrypoint/mpi does alone (and rows of platforms, entrypoint/job/cluster)"
    grep -nE '\b(system|popen|strcpy|strcat|sprintf|gets|strtok)\(' $files &&
        say "this house does without these functions"
fi

# Unit tests do not sleep: time inside one process is tested with a held clock
# (tests/support/held_clock.h), and behaviour that needs real time in tests/system. The exceptions
# below wait for other processes, threads or the kernel; their number should shrink.
cat >"${sleepers:=$(mktemp)}" <<END
entrypoint/host/ranks/test_rank_shim.c
entrypoint/os/test_console.c
entrypoint/transfer/fetch/test_prefix.c
entrypoint/transfer/peers/test_peer_server.c
entrypoint/wire/test_tcp.c
trainer/checkpoint/test_checkpoint.c
trainer/comm/nccl/test_guard.c
END
for file in $(git ls-files 'tests/unit/*.[ch]' 2>/dev/null); do
    [ -e "$file" ] || continue
    listed=$(grep -cFx "${file#tests/unit/}" "$sleepers")
    # A definition that replaces the library's nanosleep is no call of it.
    if grep -vE '^int nanosleep\(' "$file" |
        grep -qE '\b(usleep|nanosleep|sleep)\(|poll\(NULL'; then
        [ "$listed" = 1 ] ||
            say "$file sleeps, where a held clock would do (tests/support/held_clock.h)"
    elif [ "$listed" = 1 ]; then
        say "$file does not sleep any more: take it off the list in tests/lint/house.sh"
    fi
done
rm -f "$sleepers"

# A kernel that is launched early, while others still run, waits for them before it reads anything.
for file in $(git ls-files 'trainer/backend/cuda/*.cu'); do
    early=$(grep -oE 'enqueue_early\([a-z0-9_]+' "$file" | cut -d '(' -f 2 | sort -u)
    waiting=$(awk '/__global__/ { kernel = 1 }
        kernel && match($0, /[a-z0-9_]+_kernel *\(/) { name = substr($0, RSTART, RLENGTH - 1) }
        kernel && /\{$/ { kernel = 0; first = 1; next }
        first { if ($0 ~ /^ *wait_for_others\(\);$/) print name; first = 0 }' "$file" | sort -u)
    [ "$early" = "$waiting" ] ||
        say "$file: launched early: $(echo $early); waiting first: $(echo $waiting)"
done

exit $failed
