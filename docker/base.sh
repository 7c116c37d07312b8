#!/bin/sh
# Makes sure that the engine has the base image, debian:bookworm-slim or that of another SUITE. It
# is pulled if a registry can be reached; otherwise it is made on this machine (root) by mmdebstrap,
# or by debootstrap if that is not installed.
#
#   sh docker/base.sh [SUITE]   needs an engine: sh docker/engine.sh sh docker/base.sh
set -eu

case ${1:-} in
-h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && exit 0 ;;
-*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2 && exit 64 ;;
esac
suite=${1:-bookworm}
image=debian:$suite-slim
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

docker image inspect "$image" >/dev/null 2>&1 && exit 0
echo "pulling $image"
timeout 120 docker pull -q "$image" >/dev/null 2>&1 && exit 0

maker=
for program in mmdebstrap debootstrap; do
    [ -n "$maker" ] || ! command -v $program >/dev/null 2>&1 || maker=$program
done
[ -n "$maker" ] || { echo "base.sh: neither mmdebstrap nor debootstrap is installed" >&2; exit 69; }
echo "no registry; making $image by $maker from $mirror"
[ "$(id -u)" = 0 ] || { echo "base.sh: $maker needs root" >&2; exit 69; }
work=$(mktemp -d "${TMPDIR:-/var/tmp}/ringmaster-base.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root

# debootstrap fetches one package at a time, waits for the disk after each, and takes twice as long.
# Both give the same packages. The hook turns /bin and the like into links before anything is
# unpacked.
by_mmdebstrap() {
    mmdebstrap --mode=root --variant=minbase --format=directory --include=usr-is-merged \
        --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr --aptopt='Acquire::Languages "none"' \
        --dpkgopt=force-unsafe-io "$suite" "$root" "deb $mirror $suite main"
    rm -f "$root/etc/apt/apt.conf.d/99mmdebstrap" "$root/etc/dpkg/dpkg.cfg.d/99mmdebstrap"
}
by_debootstrap() { debootstrap --variant=minbase "$suite" "$root" "$mirror"; }
"by_$maker" >"$work/log" 2>&1 || {
    tail -n 5 "$work/log" >&2
    echo "base.sh: $maker failed" >&2
    exit 69
}

cat >"$root/etc/apt/sources.list" <<END
deb $mirror $suite main
deb $mirror $suite-updates main
deb http://deb.debian.org/debian-security $suite-security main
END
# Leaves out what the official slim image does: documentation, caches, and package lists.
cat >"$root/etc/dpkg/dpkg.cfg.d/slim" <<'END'
path-exclude /usr/share/doc/*
path-include /usr/share/doc/*/copyright
path-exclude /usr/share/man/*
path-exclude /usr/share/info/*
path-exclude /usr/share/locale/*
END
printf '%s\n' 'APT::Install-Recommends "false";' 'Acquire::Languages "none";' \
    >"$root/etc/apt/apt.conf.d/slim"
# As in the official image, nothing waits for the disk: a layer is either complete or absent.
echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/docker-apt-speedup"
find "$root/usr/share/doc" -type f ! -name copyright -delete
find "$root/usr/share/doc" -type l -delete
rm -rf "$root"/usr/share/man/* "$root"/usr/share/info/* "$root"/usr/share/locale/* \
    "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*.bin "$root"/var/cache/apt/archives/*.deb \
    "$root"/var/log/*.log "$root"/var/log/apt/* "$root"/var/cache/debconf/*-old
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
tar -C "$root" --one-file-system -c . |
    docker import --change 'CMD ["bash"]' \
        --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
        - "$image" >/dev/null
echo "made $image"
