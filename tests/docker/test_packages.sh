#!/bin/sh
# Tests docker/packages.sh with a stub of apt-get: it installs missing packages, from new lists
# where the old ones do not work, also when several processes run at once, of which apt lets only
# one lock its lists.
# shellcheck disable=SC2154  # check.sh's variables
set -u
cd "$(dirname "$0")/../.." || exit 70
# shellcheck source=/dev/null
. tests/check.sh
[ "$(id -u)" = 0 ] || { echo "skipped: only root installs"; exit 77; }

mkdir "$work/path"
# A package is installed if $state has a file of its name.
state=$work/state
cat >"$work/path/dpkg-query" <<END
#!/bin/sh
for name; do :; done
[ ! -e "$state/\$name" ] || printf 'install ok installed'
END
# The lists do not work until they have been updated, which only one process may do at a time.
cat >"$work/path/apt-get" <<END
#!/bin/sh
echo "\$*" >>"$state.calls"
case \$* in
*update*)
    mkdir "$state/lists.lock" 2>/dev/null || { echo "E: Could not get lock" >&2; exit 100; }
    sleep 1
    touch "$state/lists"
    rmdir "$state/lists.lock"
    ;;
*)
    [ -e "$state/lists" ] || exit 100
    while [ "\$1" != --no-install-recommends ]; do shift; done
    shift
    for name; do touch "$state/\$name"; done
    ;;
esac
END
chmod +x "$work/path/"*

# fresh NAME...: sets up a machine that only has these packages.
fresh() {
    rm -rf "$state" "$state.calls"
    mkdir "$state"
    for name; do touch "$state/$name"; done
}

packages() {
    PACKAGES_FOR=debian-12 PATH="$work/path:$PATH" sh docker/packages.sh "$@" >"$work/said" 2>&1
}

has() {
    for name in $(PACKAGES_FOR=debian-12 sh docker/packages.sh list foreign); do
        [ -e "$state/$name" ] || { echo "no $name"; cat "$work/said"; return 1; }
    done
}

calls() {
    [ "$(cat "$state.calls" 2>/dev/null | wc -l)" = "$1" ] || { cat "$state.calls"; return 1; }
}

fresh hpcc
check "what is missing is installed" packages install foreign
check "all of it is there" has
check "lists of no use are made anew once" calls 3
check "what is there already is left alone" packages install foreign
check "without a call" calls 3

fresh
for one in 1 2 3; do
    (packages install foreign || touch "$work/failed.$one") &
done
wait
check "three at once all get it" \
    test ! -e "$work/failed.1" -a ! -e "$work/failed.2" -a ! -e "$work/failed.3"
check "it is there" has
check "of the three one has installed it" calls 3
exit $failed
