#!/bin/sh
# Reports the resources of CUDA kernels from the assembler's output (ptxas -v).
#
# kernel_report.sh compile DIR COMMAND...
#     Runs a compiler and keeps the assembler's output in DIR.
# kernel_report.sh table DIR FILE SOURCE...
#     Makes a table of all that output in FILE, followed by the bytes that each kernel must move,
#     which the sources' comments state ("Bytes moved: ... ."). Fails if a kernel spills registers,
#     has more shared memory than a block may have, serializes the tensor cores' products (C7510) or
#     has no such comment, if there is no output of any kernel, and if two kernels have the same
#     name. A last number over 48 KiB in the kernel's name is its dynamic shared memory.
set -eu

case "$1" in
compile)
    dir=$2
    shift 2
    mkdir -p "$dir"
    for word in "$@"; do source=$word; done
    log="$dir/$(basename "$source").log"
    if "$@" 2>"$log"; then
        grep -vE '^ptxas info|^ +[0-9]+ bytes stack|^$' "$log" >&2 || true
    else
        status=$?
        cat "$log" >&2
        exit "$status"
    fi
    ;;
table)
    dir=$2 table=$3
    shift 3
    if grep -hs C7510 "$dir"/*.log >&2; then
        echo "products of tensor cores are waited for one by one" >&2
        exit 1
    fi
    awk '
        /Compiling entry function/ { split($0, part, "\047"); name = part[2]; arch = part[4] }
        /bytes spill stores/ { stack = $1; spill = $5 + $9 }
        /Used [0-9]+ registers/ {
            shared = 0
            for (i = 2; i <= NF; i++) if ($i ~ /^smem/) shared = $(i - 2)
            for (i = 1; i < NF; i++) if ($i == "Used") registers = $(i + 1)
            printf "%s %s %s %s %s %s\n", arch, registers, shared, stack, spill, name
        }' "$dir"/*.log 2>/dev/null | sort -k6,6 -k1,1 | c++filt |
        awk 'BEGIN { printf "%-7s %9s %12s %11s %11s  %s\n", "arch", "registers", "shared bytes",
                         "stack bytes", "spill bytes", "kernel" }
             { a = $1; r = $2; s = $3; t = $4; p = $5; $1 = $2 = $3 = $4 = $5 = ""; sub(/^ +/, "")
               if (match($0, /[<,] ?[0-9]+>\(/)) {
                   brought = substr($0, RSTART + 1) + 0
                   if (brought > 49152) s += brought
               }
               printf "%-7s %9d %12d %11d %11d  %s\n", a, r, s, t, p, $0
               if (p > 0 || s > 227 * 1024) bad++ }
             END { exit bad > 0 || NR == 0 }' >"$table" ||
        { [ "$(wc -l <"$table")" -gt 1 ] || {
              echo "the assembler said nothing of any kernel: $dir" >&2
              exit 1
          }
          awk 'NR > 1 && ($5 > 0 || $3 > 227 * 1024)' "$table" >&2
          echo "kernels spill registers, or have more shared memory than there is: $table" >&2
          exit 1; }
    awk '
        function said(comment) {
            if (!match(comment, /Bytes moved: [^.]*/)) return "-"
            return substr(comment, RSTART + 13, RLENGTH - 13)
        }
        FNR == 1 { comment = ""; kernel = 0 }
        /^\/\*/ { comment = ""; open = 1 }
        open {
            line = $0; gsub(/^ *\/?\*+\/?|\*\/ *$/, "", line); comment = comment line
            open = $0 !~ /\*\//; next
        }
        /__global__/ { kernel = 1 }
        kernel && match($0, /[a-z0-9_]+_kernel *\(/) {
            name = substr($0, RSTART, RLENGTH - 1)
            moved = said(comment); gsub(/  +/, " ", moved)
            printf "%-32s %s\n", name, moved
            kernel = 0; comment = ""
        }
        /^}/ { comment = "" }' "$@" | sort |
        { printf '\n%-32s %s\n' kernel 'bytes that it must move'; cat; } >>"$table"
    unsaid=$(awk '/^kernel/ { names = 1 } names && $2 == "-" && NF == 2 { print $1 }' "$table")
    [ -z "$unsaid" ] || {
        echo "no comment says what these move (\"Bytes moved: ... .\"):" $unsaid >&2
        exit 1
    }
    # Names have to be unique, as a profiler shows them without their sources.
    twice=$(awk '!names && /^kernel/ { names = 1; next } names { print $1 }' "$table" | uniq -d)
    [ -z "$twice" ] || { echo "two kernels have one name: $twice" >&2; exit 1; }
    ;;
esac
