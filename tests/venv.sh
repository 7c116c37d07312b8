#!/bin/sh
# sh tests/venv.sh NAME PACKAGE...: installs packages from PyPI into the virtual environment
# build/NAME, unless that has been done. It takes at most VENV_SECONDS (400) and exits with 0 if the
# environment is ready, with 77 if it cannot be made. Of several callers at once one installs it;
# the time that the others wait counts for their own limit. Modules are only compiled when they are
# imported: most of a large package never is.
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
# One pip serves all environments, as it takes longer to make than an environment without it.
# shellcheck disable=SC2016  # for the shell below
if ! timeout "$left" sh -c 'venv=$1 pip=$2 && shift 2 && exec 7>"$pip.lock" && flock 7 &&
    { [ -e "$pip/ready" ] ||
        { rm -rf "$pip" && python3 -m venv "$pip" && : >"$pip/ready"; }; } && exec 7>&- &&
    python3 -m venv --without-pip "$venv" &&
    exec "$pip/bin/pip" --python "$venv/bin/python" install -q --disable-pip-version-check \
        --no-compile "$@"' - "$venv" "$top/build/pip" "$@"; then
    skip "$name could not be installed from PyPI"
fi
: >"$venv/ready"
