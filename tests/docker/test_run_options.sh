#!/bin/sh
# Tests when tests/run.sh installs packages, with stand-ins of docker/ and of CMake.
# shellcheck disable=SC2154  # check.sh's variables
set -u
cd "$(dirname "$0")/../.." || exit 70
# shellcheck source=/dev/null
. tests/check.sh

mkdir -p "$work/tree/docker" "$work/tree/tests" "$work/path"
cp tests/run.sh tests/building.sh "$work/tree/tests/"
cat >"$work/tree/docker/packages.sh" <<END
echo "\$*" >>"$work/asked"
[ "\$1" != missing ] || printf '%s\n' libone two-dev
END
echo "echo fetched >>$work/asked" >"$work/tree/docker/fetch_onednn.sh"
printf '#!/bin/sh\necho "cmake: no compiler"\nexit 1\n' >"$work/path/cmake"
chmod +x "$work/path/cmake"

# run WORD...: calls it until it would configure the build, which fails.
run() {
    rm -f "$work/asked"
    PATH="$work/path:$PATH" sh "$work/tree/tests/run.sh" "$@" >"$work/said" 2>&1
}
says() { grep -q -e "$1" "$work/said"; }
asked() { [ "$(cat "$work/asked" 2>/dev/null)" = "$1" ]; }

run unit
check "without an option packages are installed and oneDNN is fetched" \
    asked "install build fetch test mpi
fetched"
run --no-install unit
check "--no-install installs and fetches nothing" asked "missing build fetch test mpi"
check "it names what is missing" says "not installed, as --no-install says: libone two-dev"
check "it goes on to the build" says "cmake: no compiler"
run --no-instal unit
check "another option is refused with 64 and the usage" [ $? = 64 ]
check "the usage has the option" says "--no-install   installs"
exit $failed
