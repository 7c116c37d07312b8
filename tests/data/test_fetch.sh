#!/bin/sh
# Tests tests/data/fetch.sh with repositories of its own in the place of GitHub's: where a set comes
# from, how it is laid out, and what is refused.
# shellcheck disable=SC2154  # check.sh's variables
set -u
cd "$(dirname "$0")/../.." || exit 70
top=$PWD
# shellcheck source=/dev/null
. tests/check.sh
command -v git >/dev/null || { echo "skipped: no git"; exit 77; }
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1

# repository NAME: makes a commit of what is in $work/NAME, and prints it.
repository() {
    (cd "$work/$1" && git init -q && git add -A &&
        git -c user.name=test -c user.email=test@localhost commit -q -m pictures &&
        git rev-parse HEAD)
}

# sum FILE...: what sets.txt has for a set of these files, which the caller's folder holds.
sum() {
    sha256sum "$@" | sha256sum | cut -d ' ' -f 1
}

for flower in 1 2 3 4 5 6; do
    mkdir -p "$work/of/flowers/flowers/rose"
    echo "rose $flower" >"$work/of/flowers/flowers/rose/$flower.jpg"
done
echo "not a picture" >"$work/of/flowers/README.md"
flowers=$(repository of/flowers)
mkdir -p "$work/want/train/rose" "$work/want/val/rose"
cp "$work"/of/flowers/flowers/rose/*.jpg "$work/want/train/rose/"
mv "$work/want/train/rose/5.jpg" "$work/want/val/rose/"
flowers_sum=$(cd "$work/want" && sum ./train/rose/1.jpg ./train/rose/2.jpg ./train/rose/3.jpg \
    ./train/rose/4.jpg ./train/rose/6.jpg ./val/rose/5.jpg)

mkdir -p "$work/of/plain"
echo picture >"$work/of/plain/a.jpg"
plain=$(repository of/plain)
plain_sum=$(cd "$work/of/plain" && sum ./a.jpg)
cat >"$work/sets" <<END
# a list of its own
flowers of/flowers $flowers
    $flowers_sum
plain of/plain $plain
    $plain_sum
altered of/plain $plain
    $flowers_sum
gone of/plain $flowers
    $plain_sum
END
mkdir "$work/archives"

# fetch CODE [SET...]: whether fetch.sh ends with CODE, for $work/data.
fetch() {
    want=$1
    shift
    SETS=$work/sets ARCHIVES=$work/archives GITHUB=${github-file://$work} \
        sh tests/data/fetch.sh "$work/data" "$@" >"$work/said" 2>&1
    got=$?
    [ "$got" = "$want" ] || { echo "exit code $got"; cat "$work/said"; return 1; }
}
# near [SET...]: the same from $work, with paths that are relative to it.
near() {
    (cd "$work" && SETS=sets ARCHIVES=archives GITHUB=file://$work \
        sh "$top/tests/data/fetch.sh" near "$@") >"$work/said" 2>&1 ||
        { cat "$work/said"; return 1; }
}
absent() { [ ! -e "$1" ]; }
only() { [ "$(ls "$work/data")" = "$1" ]; }

check "a set comes from its repository" fetch 0 plain
check "as it is there" cmp -s "$work/of/plain/a.jpg" "$work/data/plain/a.jpg"
check "one with classes is divided" fetch 0 flowers
check "every fifth picture for validation" diff -r "$work/want" "$work/data/flowers"
check "the folder may be relative" near flowers plain
check "with the same in it" diff -r "$work/data" "$work/near"
github=file://$work/nowhere
check "sets that are there need no network" fetch 0 plain flowers
rm -r "$work/data/plain"
check "without an answer a set is missing" fetch 77 plain
check "which is said" grep -q "no plain: no archive in .*, no answer from $github" "$work/said"
github=
check "as it is where no network is to be used" fetch 77 plain
(cd "$work/of" && tar -czf "$work/archives/plain.tar.gz" plain/a.jpg)
check "an archive takes the network's place" fetch 0 plain
unset github
check "other files than the list's are refused" fetch 1 altered
check "with both sums" grep -q "$plain_sum.*$flowers_sum" "$work/said"
check "and are not left" absent "$work/data/altered"
check "a commit that is gone is a set that is missing" fetch 77 gone
check "a set that no list names is a mistake" fetch 64 other
check "nothing but sets is left" only "flowers
plain"
check "the sets of the tests have rows that are complete" \
    test "$(grep -cE '^([a-z0-9-]+ \w+/[A-Za-z0-9_-]+ [0-9a-f]{40}|    [0-9a-f]{64})$' \
        tests/data/sets.txt)" = 8
exit $failed
