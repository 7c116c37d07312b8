#!/bin/sh
# Checks that each of the 26 cases of SageMaker's contract has tests, and that
# docs/contributing/sagemaker-conformance.md names them in rows like this one:
#
#   | 7 | ... | file: name, name; file: name |
#
# A row only names tests that exist and run: a unit test, or a function of a script that is in its
# list of cases or that the script calls itself. The same holds for each of the 20 attacks in
# docs/security/attacks.md, `| A7 | ... | ... | tests |`, unless its row says why it is not
# applicable.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck disable=SC2046  # a list
awk '
function file_of(path) { sub(".*/", "", path); return path }
FILENAME ~ "[.]md$" {
    if ($0 !~ (FILENAME ~ "attacks[.]md$" ? "^[|] A[0-9]+ [|] " : "^[|] [0-9]+ [|] ")) next
    split($0, cell, " \\| ")
    row = substr(cell[1], 3)
    tests = cell[FILENAME ~ "attacks[.]md$" ? 4 : 3]
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
FNR == 1 { here = file_of(FILENAME); open = "" }
!(here in of) { next }
here ~ /[.]c$/ { run[here] = run[here] " " $0; next }
# What a script runs: its list of cases (or that of its loop), and the lists that the list names.
open == "" && /^for [a-z]+ in/ { to = "CASES"; open = "; do" }
open == "" && match($0, /(^|[ \t)])[A-Za-z_]+=(\$[{]CASES:-|[\047"])/) {
    to = substr($0, RSTART, RLENGTH)
    open = to ~ /CASES:-$/ ? "[}]$" : to ~ /"$/ ? "\"[^\"]*$" : "\047[^\047]*$"
    rest = substr($0, RSTART + RLENGTH)
    sub("=.*", "", to)
    gsub("[^A-Za-z_]", "", to)
    list[here, to] = list[here, to] " " rest " "
    if (rest ~ open) open = ""
    next
}
open != "" {
    list[here, to] = list[here, to] " " $0 " "
    if ($0 ~ open) open = ""
}
/^[a-z_0-9]+$/ { list[here, "CASES"] = list[here, "CASES"] " " $0 " " }
/^[a-z_0-9]+[(][)]/ { sub("[(].*", ""); defined[here, $0] = 1 }
# The list CASES of FILE, with the lists that it names expanded.
function cases_of(file,    text, turn, variable, before) {
    text = list[file, "CASES"]
    for (turn = 0; turn < 20 && match(text, /\$[{]?[A-Za-z_]+[}]?/); turn++) {
        variable = substr(text, RSTART, RLENGTH)
        gsub("[^A-Za-z_]", "", variable)
        before = substr(text, 1, RSTART - 1)
        text = before " " list[file, variable] " " substr(text, RSTART + RLENGTH)
    }
    return text
}
function has(text, name) { return text ~ "(^|[^a-z0-9_])" name "([^a-z0-9_]|$)" }
END {
    for (i = 1; i <= 26; i++)
        if (!(i in rows)) {
            print "docs/contributing/sagemaker-conformance.md has no tests for case " i
            failed = 1
        }
    for (i = 1; i <= 20; i++)
        if (!(("A" i) in rows)) {
            print "docs/security/attacks.md has no tests for attack A" i
            failed = 1
        }
    for (key in wanted) {
        split(key, part, SUBSEP)
        if (part[1] ~ /[.]c$/ &&
            run[part[1]] ~ ("(UNIT[(] *" part[2] "| " part[2] "[(])[)]")) continue
        if (((part[1], part[2]) in defined) && has(cases_of(part[1]), part[2])) continue
        print "case " wanted[key] ": " part[1] " runs no test " part[2]
        failed = 1
    }
    exit failed
}' docs/contributing/sagemaker-conformance.md docs/security/attacks.md \
    $(git ls-files 'tests/system/*.sh' 'tests/unit/**.c')
