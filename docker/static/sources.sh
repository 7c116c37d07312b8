#!/bin/sh
# Fetches the sources of the static launcher's libraries from Debian 12 with apt, verified by its
# keys, whatever distribution this machine's own lists name.
#
#   sh docker/static/sources.sh FOLDER     unpacks and patches them as Debian builds them;
#                                          FOLDER/list has each name and version. Nothing is fetched
#                                          if FOLDER has all of them already
set -eu

folder=$1
packages="zlib bzip2 xz-utils libzstd jansson pcre2 expat openssl curl libarchive"
keys=/usr/share/keyrings/debian-archive-keyring.gpg

fail() {
    echo "sources.sh: $*" >&2
    exit 1
}

for program in apt-get dpkg-source; do
    command -v $program >/dev/null ||
        fail "$program is missing (sh docker/packages.sh install static)"
done
[ -r "$keys" ] || fail "$keys is missing (sh docker/packages.sh install static)"

[ "$(cat "$folder/packages" 2>/dev/null)" != "$packages" ] || exit 0
rm -rf "$folder.new"
mkdir -p "$folder.new/apt/lists/partial" "$folder.new/apt/cache/archives/partial"
mirror=${RINGMASTER_DEBIAN:-http://deb.debian.org}

# begin SUITE-LINE...: makes apt use these lists alone, and fetches them.
begin() {
    printf '%s\n' "$@" >"$folder.new/apt/sources.list"
    apt update -qq || fail "Debian's lists of sources cannot be fetched from $mirror"
}

apt() {
    apt-get -o Dir::Etc::sourcelist="$folder.new/apt/sources.list" \
        -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::State::lists="$folder.new/apt/lists" -o Dir::Cache="$folder.new/apt/cache" \
        -o APT::Sandbox::User="$(id -un)" -o Acquire::Retries=3 -o APT::Update::Error-Mode=any "$@"
}

fetch() {
    # shellcheck disable=SC2086  # a list
    (cd "$folder.new" && apt source -qq $packages >apt/log 2>&1)
}

plain="deb-src [signed-by=$keys] $mirror/debian bookworm main"
begin "$plain" "deb-src [signed-by=$keys] $mirror/debian-security bookworm-security main"
if ! fetch; then
    # For some hours after a security update a mirror can have its list without its files.
    echo "sources.sh: not all sources could be fetched; the last point release is taken, without later security updates"
    grep '^[EW]:' "$folder.new/apt/log" | head -n 3
    find "$folder.new" -mindepth 1 -maxdepth 1 ! -name apt -exec rm -rf {} +
    begin "$plain"
    fetch || { tail -n 5 "$folder.new/apt/log" >&2; fail "the sources cannot be fetched"; }
fi
for file in "$folder.new"/*.dsc; do
    awk '$1 == "Source:" { name = $2 } $1 == "Version:" && version == "" { version = $2 }
        END { print name, version }' "$file"
done | sort >"$folder.new/list"
echo "$packages" >"$folder.new/packages"
rm -rf "$folder.new/apt" "$folder.new"/*.dsc "$folder.new"/*.tar.* "$folder"
mv "$folder.new" "$folder"
