#!/bin/sh
# Installs moto (PyPI), which plays S3, into build/moto, where that has not been done: 0 where it is there, 77 where it cannot be
# had. Of those that begin at once one installs it.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
moto=$top/build/moto

skip() {
    echo "skipped: $*"
    exit 77
}

mkdir -p "$top/build"
exec 8>"$moto.lock"
flock -w 500 8 || skip "another test has been installing moto for 500 s"
[ ! -e "$moto/ready" ] || exit 0
rm -rf "$moto"
if ! python3 -m venv "$moto" ||
    ! timeout 400 "$moto/bin/pip" install -q --disable-pip-version-check 'moto[server]==5.2.5' boto3; then
    skip "moto could not be installed from PyPI"
fi
: >"$moto/ready"
