#!/bin/sh
# kernel_report.sh compile DIR COMMAND...   runs a compile, keeps what the assembler said in DIR
# kernel_report.sh table DIR FILE           makes one table of all that was kept, and fails if a
#                                           kernel spills registers, or waits for each product of the
#                                           tensor cores (C7510). Shared bytes are those that the
#                                           assembler knows: what a launch brings stands in the
#                                           kernel's name, as its last number
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
    if grep -h C7510 "$2"/*.log >&2; then
        echo "products of tensor cores are waited for one by one" >&2
        exit 1
    fi
    awk '
        /Compiling entry function/ { split($0, part, "\047"); name = part[2]; arch = part[4] }
        /bytes spill stores/ { spill = $5 + $9 }
        /Used [0-9]+ registers/ {
            shared = 0
            for (i = 2; i <= NF; i++) if ($i ~ /^smem/) shared = $(i - 2)
            for (i = 1; i < NF; i++) if ($i == "Used") registers = $(i + 1)
            printf "%s %s %s %s %s\n", arch, registers, shared, spill, name
        }' "$2"/*.log | sort -k5,5 -k1,1 | c++filt |
        awk 'BEGIN { printf "%-7s %9s %12s %11s  %s\n", "arch", "registers", "shared bytes", "spill bytes", "kernel" }
             { a = $1; r = $2; s = $3; p = $4; $1 = $2 = $3 = $4 = ""; sub(/^ +/, "")
               printf "%-7s %9d %12d %11d  %s\n", a, r, s, p, $0
               if (p > 0) spills++ }
             END { exit spills > 0 }' >"$3" || { grep -vE ' 0  ' "$3" >&2; echo "kernels spill registers: $3" >&2; exit 1; }
    ;;
esac
