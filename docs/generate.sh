#!/bin/sh
# Puts the programs' own tables into the pages of docs/, between <!-- begin NAME --> and
# <!-- end NAME -->.
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

# put PROGRAM NAME PAGE
put() {
    "$bin/$1" docs "$2" >"$work/table" || { failed=1; return; }
    if ! grep -qx "<!-- begin $2 -->" "$3" || ! grep -qx "<!-- end $2 -->" "$3"; then
        echo "$3: has no place for the table $2: <!-- begin $2 --> and <!-- end $2 -->"
        failed=1
        return
    fi
    awk -v name="$2" -v table="$work/table" '
        $0 == "<!-- end " name " -->" { inside = 0 }
        !inside
        $0 == "<!-- begin " name " -->" {
            inside = 1
            print ""
            while ((getline line < table) > 0) print line
            print ""
        }' "$3" >"$work/page"
    cmp -s "$work/page" "$3" && return
    if [ -n "$check" ]; then
        echo "$3: the table $2 is out of date: sh docs/generate.sh"
        diff "$3" "$work/page" | head -n 10
        failed=1
    else
        cat "$work/page" >"$3"
        echo "$3: $2"
    fi
}

for program in ringmaster ringtrain; do
    "$bin/$program" docs >"$work/tables" || exit 70
    while read -r name page; do
        put "$program" "$name" "$page"
    done <"$work/tables"
done
exit $failed
