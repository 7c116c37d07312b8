#!/bin/sh
# Puts the programs' own tables, and the list of headers, into the pages of docs/, between
# <!-- begin NAME --> and <!-- end NAME -->.
#
#   sh docs/generate.sh [BIN]           rewrites the pages; BIN has the programs (build/release/bin)
#   sh docs/generate.sh --check [BIN]   changes nothing, and exits with 1 if a page is out of date
set -u
cd "$(dirname "$0")/.." || exit 70
check=
[ "${1:-}" != --check ] || { check=1; shift; }
bin=${1:-build/release/bin}
work=$(mktemp -d) || exit 70
trap 'rm -rf "$work"' EXIT
failed=0

# put NAME PAGE COMMAND...: puts what COMMAND prints into PAGE as the table NAME.
put() {
    name=$1
    page=$2
    shift 2
    "$@" >"$work/table" || { failed=1; return; }
    if ! grep -qx "<!-- begin $name -->" "$page" || ! grep -qx "<!-- end $name -->" "$page"; then
        echo "$page: has no place for the table $name: <!-- begin $name --> and <!-- end $name -->"
        failed=1
        return
    fi
    awk -v name="$name" -v table="$work/table" '
        $0 == "<!-- end " name " -->" { inside = 0 }
        !inside
        $0 == "<!-- begin " name " -->" {
            inside = 1
            print ""
            while ((getline line < table) > 0) print line
            print ""
        }' "$page" >"$work/page"
    cmp -s "$work/page" "$page" && return
    if [ -n "$check" ]; then
        echo "$page: the table $name is out of date: sh docs/generate.sh"
        diff "$page" "$work/page" | head -n 10
        failed=1
    else
        cat "$work/page" >"$page"
        echo "$page: $name"
    fi
}

for program in ringmaster ringtrain; do
    "$bin/$program" docs >"$work/tables" || exit 70
    while read -r table place; do
        put "$table" "$place" "$bin/$program" docs "$table"
    done <"$work/tables"
done
put headers docs/internals/headers.md python3 docs/headers.py
exit $failed
