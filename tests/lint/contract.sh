#!/bin/sh
# Each of the 25 cases of SageMaker's contract has tests, and CONTRIBUTING.md names them: a row
# `| 7 | ... | file: name, name; file: name |` holds only what is there.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck disable=SC2046  # a list
awk '
function file_of(path) { sub(".*/", "", path); return path }
FILENAME == "CONTRIBUTING.md" {
    if ($0 !~ /^\| [0-9]+ \| /) next
    split($0, cell, " \\| ")
    row = substr(cell[1], 3)
    tests = cell[3]
    sub(/ \|$/, "", tests)
    count = split(tests, files, "; ")
    for (i = 1; i <= count; i++) {
        colon = index(files[i], ": ")
        names = split(substr(files[i], colon + 2), name, ", ")
        for (j = 1; j <= names; j++) {
            wanted[substr(files[i], 1, colon - 1), name[j]] = row
            of[substr(files[i], 1, colon - 1)] = of[substr(files[i], 1, colon - 1)] " " name[j]
        }
        rows[row] = 1
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
    for (i = 1; i <= 25; i++)
        if (!(i in rows)) { print "CONTRIBUTING.md has no tests for case " i; failed = 1 }
    for (key in wanted) {
        split(key, part, SUBSEP)
        print "case " wanted[key] ": " part[1] " has no test " part[2]
        failed = 1
    }
    exit failed
}' CONTRIBUTING.md $(git ls-files 'tests/system/*.sh' 'tests/unit/entrypoint/**.c')
