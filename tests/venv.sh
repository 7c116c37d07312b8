#!/bin/sh
# sh tests/venv.sh NAME PACKAGE...: installs packages from PyPI into the virtual environment build/NAME, where that has not been
# done, which may take VENV_SECONDS (400): 0 where it is there, 77 where it cannot be had. Of those that begin at once one installs it.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
name=$1
venv=$top/build/$name
shift

skip() {
    echo "skipped: $*"
    exit 77
}

mkdir -p "$top/build"
exec 8>"$venv.lock"
flock -w 500 8 || skip "another test has been installing $name for 500 s"
[ ! -e "$venv/ready" ] || exit 0
rm -rf "$venv"
if ! python3 -m venv "$venv" || ! timeout "${VENV_SECONDS:-400}" "$venv/bin/pip" install -q --disable-pip-version-check "$@"; then
    skip "$name could not be installed from PyPI"
fi
: >"$venv/ready"
