#!/bin/sh
# docker/packages.sh with an apt-get of our own: packages that are missing are installed, from new lists where the old ones
# will not do, also by several at once, of whom apt lets one alone at its lists.
# shellcheck disable=SC2154  # check.sh's variables
set -u
cd "$(dirname "$0")/../.." || exit 70
# shellcheck source=/dev/null
. tests/check.sh
[ "$(id -u)" = 0 ] || { echo "skipped: only root installs"; exit 77; }

mkdir "$work/path"
# A package is installed where a file of its name lies in $state.
state=$work/state
cat >"$work/path/dpkg-query" <<END
#!/bin/sh
for name; do :; done
[ ! -e "$state/\$name" ] || printf 'install ok installed'
END
# The lists are of no use until they have been made anew, which nobody else may do at the same time.
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

# fresh NAME...: a machine that has these packages alone.
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

calls() { [ "$(cat "$state.calls" 2>/dev/null | wc -l)" = "$1" ] || { cat "$state.calls"; return 1; }; }

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
check "three at once all get it" test ! -e "$work/failed.1" -a ! -e "$work/failed.2" -a ! -e "$work/failed.3"
check "it is there" has
check "of the three one has installed it" calls 3
exit $failed
