#!/bin/sh
# Each of the 26 cases of SageMaker's contract has tests, and CONTRIBUTING.md names them: a row
# `| 7 | ... | file: name, name; file: name |` holds only what is there. So does each of the 20 attacks in
# SECURITY.md, `| A7 | ... | ... | tests |`, or its row says why it is not applicable.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck disable=SC2046  # a list
awk '
function file_of(path) { sub(".*/", "", path); return path }
FILENAME == "CONTRIBUTING.md" || FILENAME == "SECURITY.md" {
    if ($0 !~ (FILENAME == "SECURITY.md" ? "^[|] A[0-9]+ [|] " : "^[|] [0-9]+ [|] ")) next
    split($0, cell, " \\| ")
    row = substr(cell[1], 3)
    tests = cell[FILENAME == "SECURITY.md" ? 4 : 3]
    rows[row] = 1
    if (tests ~ /^not applicable: ./) next
    sub(/ \|$/, "", tests)
    count = split(tests, files, "; ")
    for (i = 1; i <= count; i++) {
        colon = index(files[i], ": ")
        names = split(substr(files[i], colon + 2), name, ", ")
        for (j = 1; j <= names; j++) {
            wanted[substr(files[i], 1, colon - 1), name[j]] = row
            of[substr(files[i], 1, colon - 1)] = of[substr(files[i], 1, colon - 1)] " " name[j]
        }
    }
    next
}
FNR == 1 { here = file_of(FILENAME) }
here in of {
    names = split(of[here], name, " ")
    for (j = 1; j <= names; j++)
        if ($0 ~ "(^|[^a-z0-9_])" name[j] "([^a-z0-9_]|$)") delete wanted[here, name[j]]
}
END {
    for (i = 1; i <= 26; i++)
        if (!(i in rows)) { print "CONTRIBUTING.md has no tests for case " i; failed = 1 }
    for (i = 1; i <= 20; i++)
        if (!(("A" i) in rows)) { print "SECURITY.md has no tests for attack A" i; failed = 1 }
    for (key in wanted) {
        split(key, part, SUBSEP)
        print "case " wanted[key] ": " part[1] " has no test " part[2]
        failed = 1
    }
    exit failed
}' CONTRIBUTING.md SECURITY.md $(git ls-files 'tests/system/*.sh' 'tests/unit/**.c')
