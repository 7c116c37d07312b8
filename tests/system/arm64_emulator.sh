#!/bin/sh
# Fetches QEMU's user-mode emulator of arm64 from the backports of Debian 12: Debian 12's own QEMU
# 7.2 lacks a system call that the launcher needs (prctl, PR_SET_CHILD_SUBREAPER).
#
#   sh tests/system/arm64_emulator.sh FOLDER     makes FOLDER/qemu-aarch64, unless it exists
#
# The exit code is 77 if Debian's packages cannot be fetched.
set -eu

folder=$1
keys=/usr/share/keyrings/debian-archive-keyring.gpg
[ ! -x "$folder/qemu-aarch64" ] || exit 0
skip() {
    echo "skipped: $*"
    exit 77
}
command -v apt-get >/dev/null && [ -r "$keys" ] || skip "no apt with Debian's keys"
new=$folder.new
rm -rf "$new"
mkdir -p "$new/lists/partial" "$new/cache/archives/partial"
trap 'rm -rf "$new"' EXIT
echo >"$new/sources" \
  "deb [signed-by=$keys] ${RINGMASTER_DEBIAN:-http://deb.debian.org}/debian bookworm-backports main"
apt() {
    apt-get -o Dir::Etc::sourcelist="$new/sources" -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::State::lists="$new/lists" -o Dir::State::status=/dev/null \
        -o Dir::Cache="$new/cache" -o APT::Sandbox::User="$(id -un)" -o Acquire::Retries=3 \
        -o APT::Update::Error-Mode=any -qq "$@"
}
apt update || skip "no way to Debian's lists"
(cd "$new" && apt download qemu-user) || skip "no way to Debian's qemu-user"
mkdir -p "$folder"
dpkg-deb --fsys-tarfile "$new"/qemu-user_*.deb | tar -C "$new" -xf - ./usr/bin/qemu-aarch64
mv "$new/usr/bin/qemu-aarch64" "$folder/"
