#!/bin/sh
# sh tests/venv.sh NAME PACKAGE...: installs packages from PyPI into the virtual environment build/NAME, where that has not been
# done, which may take VENV_SECONDS (400): 0 where it is there, 77 where it cannot be had. Of those that begin at once one installs it;
# what the others wait for it is of their own time, as who asks has a limit, too. Modules are compiled when they are imported: most of
# a large package never is.
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
most=${VENV_SECONDS:-400}
end=$(($(date +%s) + most))
exec 8>"$venv.lock"
flock -w "$most" 8 || skip "another test has been installing $name for $most s"
[ ! -e "$venv/ready" ] || exit 0
left=$((end - $(date +%s)))
[ "$left" -gt 0 ] || skip "another test could not install $name from PyPI"
rm -rf "$venv"
# shellcheck disable=SC2016  # for the shell below
if ! timeout "$left" sh -c 'python3 -m venv "$1" && pip=$1/bin/pip && shift && exec "$pip" install -q --disable-pip-version-check --no-compile "$@"' \
    - "$venv" "$@"; then
    skip "$name could not be installed from PyPI"
fi
: >"$venv/ready"
