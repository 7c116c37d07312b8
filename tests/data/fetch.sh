#!/bin/sh
# Puts the sets of real pictures that tests know into a folder, each as FOLDER/SET.
#
#   sh tests/data/fetch.sh FOLDER [SET...]       default: all sets of tests/data/sets.txt
#
# A set that is there stays. Others come from ARCHIVES/SET.tar.gz if there is such a file, else by
# git from a public repository, at the commit that sets.txt names. Either way the SHA-256 of all
# files has to be the one in sets.txt. Variables:
#
#   ARCHIVES       a folder with archives of sets (../shared/data, next to this repository)
#   GITHUB         where the repositories are (https://github.com); empty: no network is used
#   FETCH_SECONDS  how long one download may take (600)
#   SETS           another list than sets.txt
#
# It exits with 0 if all sets are there, with 77 if one could not be had, and with 1 if one is not
# what sets.txt says.
set -u
here=$(cd "$(dirname "$0")" && pwd)
sets=${SETS:-$here/sets.txt}
archives=${ARCHIVES-$here/../../../shared/data}
github=${GITHUB-https://github.com}
[ $# -gt 0 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 64; }
folder=$1
shift
# shellcheck disable=SC2046  # a list
[ $# -gt 0 ] || set -- $(sed -n 's/^\([a-z][a-z0-9-]*\) .*/\1/p' "$sets")
mkdir -p "$folder" && part=$(mktemp -d "$folder/part.XXXXXX") || exit 1
trap 'rm -rf "$part"' EXIT
unreachable=

# reachable REPOSITORY: an answer within ten seconds. Where one is missing nothing more is asked
# for, as a network that drops packets would cost every set its time.
reachable() {
    [ -n "$github" ] && [ -z "$unreachable" ] || return 1
    GIT_TERMINAL_PROMPT=0 timeout 10 git ls-remote -q "$github/$1" HEAD >"$part/said" 2>&1 &&
        return 0
    unreachable=1
    return 1
}

# download REPOSITORY COMMIT: the files of the commit alone, in $part/repository.
download() {
    git init -q --bare "$part/git" &&
        GIT_TERMINAL_PROMPT=0 timeout "${FETCH_SECONDS:-600}" \
            git --git-dir "$part/git" fetch -q --depth 1 "$github/$1" "$2" >"$part/said" 2>&1 &&
        mkdir "$part/repository" &&
        git --git-dir "$part/git" archive "$2" | tar -C "$part/repository" -x
}

# lay_out SET: makes $part/SET of $part/repository. It changes the folder, to which $part may be
# relative, in a shell of its own.
lay_out() (
    mkdir "$part/$1" && cd "$part/repository" || exit 1
    case $1 in
    # Training and validation have the same pictures there; one of them is enough.
    coco128)
        mkdir "../$1/annotations" && mv train2017 "../$1/" &&
            mv annotations/instances_train2017.json "../$1/annotations/" ;;
    cifar10-jpg) mv train test "../$1/" ;;
    # Every fifth picture of a class is for validation.
    flowers)
        for class in flowers/*/; do
            class=$(basename "$class")
            mkdir -p "../$1/train/$class" "../$1/val/$class"
            find "flowers/$class" -type f | LC_ALL=C sort |
                awk -v to="../$1" -v class="$class" \
                    '{ print $0, to "/" (NR % 5 ? "train/" : "val/") class "/" }' | moved
        done ;;
    # Every third picture, each in a folder of its class: the word before the first underscore.
    imagenet-sample)
        find . -maxdepth 1 -name '*.JPEG' | LC_ALL=C sort | sed 's,^\./,,' |
            awk -v to="../$1" 'NR % 3 == 1 { class = $0; sub(/_.*/, "", class)
                print $0, to "/" class "/" }' | moved ;;
    # Sets of other lists lie in the repository as they are.
    *) mv ./* "../$1/" ;;
    esac
)

# moved: moves files as the lines FILE FOLDER of its input say.
moved() {
    while read -r file to; do
        mkdir -p "$to" && mv "$file" "$to" || return 1
    done
}

# digest FOLDER: prints the SHA-256 of the list of all its files.
digest() {
    (cd "$1" && find . -type f | LC_ALL=C sort | tr '\n' '\0' | xargs -0 sha256sum) |
        sha256sum | cut -d ' ' -f 1
}

status=0
for set; do
    [ ! -d "$folder/$set" ] || continue
    row=$(grep -A 1 "^$set " "$sets" | tr '\n' ' ')
    read -r _ repository commit sha256 <<-END
	$row
	END
    [ -n "$sha256" ] || { echo "fetch.sh: $sets has no set $set" >&2; exit 64; }
    rm -rf "$part/git" "$part/repository"
    if [ -n "$archives" ] && [ -r "$archives/$set.tar.gz" ]; then
        from=$archives/$set.tar.gz
        tar -C "$part" -xzf "$from" || { status=1; continue; }
    elif reachable "$repository"; then
        from="$github/$repository at $commit"
        { download "$repository" "$commit" && lay_out "$set"; } || {
            echo "no $set: $from: $(tail -n 1 "$part/said")"
            [ $status -ne 0 ] || status=77
            continue
        }
    else
        echo "no $set: no archive in ${archives:-any folder}, no answer from ${github:-any host}"
        [ $status -ne 0 ] || status=77
        continue
    fi
    got=$(digest "$part/$set")
    if [ "$got" != "$sha256" ]; then
        echo "fetch.sh: $set from $from: its files have the SHA-256 $got," \
            "$sets says $sha256; remove the archive, or correct the list" >&2
        status=1
        continue
    fi
    # Another run may have put it there meanwhile, which is as good.
    mv -T "$part/$set" "$folder/$set" 2>/dev/null || [ -d "$folder/$set" ] || status=1
done
exit $status
