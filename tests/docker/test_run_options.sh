#!/bin/sh
# Tests when tests/run.sh installs packages and uses the network, with stand-ins of docker/, of
# tests/data/, of CMake and of CTest.
# shellcheck disable=SC2154  # check.sh's variables
set -u
cd "$(dirname "$0")/../.." || exit 70
# shellcheck source=/dev/null
. tests/check.sh
unset RINGMASTER_DATA GITHUB

mkdir -p "$work/tree/docker" "$work/tree/tests/data" "$work/path"
cp tests/run.sh tests/building.sh "$work/tree/tests/"
cat >"$work/tree/docker/packages.sh" <<END
echo "\$*" >>"$work/asked"
[ "\$1" != missing ] || cat "$work/missing"
END
echo "echo fetched >>$work/asked" >"$work/tree/docker/fetch_onednn.sh"
echo "echo \"pictures from \${GITHUB-GitHub}\" >>$work/asked" >"$work/tree/tests/data/fetch.sh"
cat >"$work/path/cmake" <<END
#!/bin/sh
[ ! -e "$work/builds" ] || exit 0
echo "cmake: no compiler"
exit 1
END
printf '#!/bin/sh\nexit 1\n' >"$work/path/ctest"
chmod +x "$work/path/cmake" "$work/path/ctest"
printf 'libone two-dev \n' >"$work/missing" # as docker/packages.sh prints them

# run WORD...: calls it until it would configure the build, which fails.
run() {
    rm -f "$work/asked"
    PATH="$work/path:$PATH" sh "$work/tree/tests/run.sh" "$@" >"$work/said" 2>&1
}
says() { grep -q -e "$1" "$work/said"; }
lacks() { ! says "$1"; }
asked() { [ "$(cat "$work/asked" 2>/dev/null)" = "$1" ]; }

run unit
check "without an option packages are installed and oneDNN is fetched" \
    asked "install build fetch test mpi
fetched"
run --no-install unit
check "--no-install installs and fetches nothing" asked "missing build fetch test mpi"
check "it names what is missing" says "not installed, as --no-install says: libone two-dev"
check "it goes on to the build" says "cmake: no compiler"
echo >"$work/missing"
run --no-install unit
check "where nothing is missing, nothing is named" lacks "not installed"
run --no-instal unit
check "another option is refused with 64 and the usage" [ $? = 64 ]
check "the usage has the option" says "--no-install   installs"

# From here on there is a build, and the run ends for lack of results.
touch "$work/builds"
run unit
check "pictures come from GitHub" asked "install build fetch test mpi
fetched
pictures from GitHub"
run --no-install unit
check "with --no-install from archives alone" asked "missing build fetch test mpi
pictures from "
exit $failed
