#!/bin/sh
# Tests tests/lint/commits.py in a repository of its own: subjects, and lines in CHANGELOG.md.
set -u
cd "$(dirname "$0")/../.." || exit 2
script=$PWD/tests/lint/commits.py
command -v git >/dev/null || { echo "skipped: no git"; exit 77; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failed=0

# The caller's repository, names and hooks play no part.
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org
export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org

# expect CODE TEXT ARGUMENT: the script must exit with CODE and print TEXT, if that is not empty.
expect() {
    code=0
    said=$(python3 "$script" "$3" 2>&1) || code=$?
    [ "$code" -eq "$1" ] || { echo "FAILED: $3: code $code, expected $1: $said"; failed=1; }
    case $said in
    *"$2"*) ;;
    *) echo "FAILED: $3: \"$2\" is not in: $said"; failed=1 ;;
    esac
}

# subject CODE TEXT SUBJECT: the hook's way, with the message in a file.
subject() {
    printf '%s\n\nbody\n' "$3" >"$work/message"
    expect "$1" "$2" "$work/message"
}

# change PATH MESSAGE: commits a change of PATH.
change() {
    mkdir -p "$(dirname "$1")" && echo x >>"$1" && git add . && git commit -q -m "$2"
}

subject 0 '' 'wire: refuse frames without a kind'
subject 0 '' 'trainer/app, docs: print the seed'
subject 0 '' 'Merge branch main'
subject 0 '' 'fixup! wire: refuse frames without a kind'
subject 1 'no area' 'Refuse frames without a kind'
subject 1 'no imperative' 'wire: added a kind'
subject 1 'no imperative' 'wire: fixes a kind'
subject 1 'full stop' 'wire: refuse frames.'
seventy_two='wire: refuse frames without a kind, and frames that no receiver can know'
subject 0 '' "$seventy_two"
subject 1 '73 columns' "${seventy_two}s"

cd "$work" && git init -q repository && cd repository || exit 2
change README.md 'docs: begin'
change entrypoint/wire.c 'wire: refuse frames without a kind'
expect 1 'wire: refuse frames' HEAD~1..HEAD
expect 0 '' HEAD..HEAD
change CHANGELOG.md 'docs: say that frames are refused'
expect 0 '' HEAD~2..HEAD
change trainer/main.c "$(printf 'trainer: part a function\n\nNo-changelog: moves code alone')"
expect 0 '' HEAD~1..HEAD
change docker/build.sh 'docker: print the version'
expect 1 'no line about 1 commits' HEAD~2..HEAD
change tests/a.sh 'tests: print more'
expect 0 '' HEAD~1..HEAD
change tests/a.sh 'fixup! tests: print more'
expect 1 autosquash HEAD~1..HEAD
change tests/a.sh 'Prints more'
expect 1 'no area' HEAD~1..HEAD
expect 1 'git rev-list' nowhere..HEAD
exit $failed
