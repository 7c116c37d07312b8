#!/bin/sh
# Makes sure that the engine has the base image, debian:bookworm-slim: pulled where a registry can be
# reached, else made on this machine by debootstrap (root).
#
#   sh docker/base.sh           needs an engine: sh docker/engine.sh sh docker/base.sh
set -eu

image=debian:bookworm-slim
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

docker image inspect "$image" >/dev/null 2>&1 && exit 0
echo "pulling $image"
timeout 120 docker pull -q "$image" >/dev/null 2>&1 && exit 0

echo "no registry; making $image by debootstrap from $mirror"
[ "$(id -u)" = 0 ] || { echo "base.sh: debootstrap needs root" >&2; exit 69; }
command -v debootstrap >/dev/null 2>&1 ||
    { echo "base.sh: debootstrap is not installed" >&2; exit 69; }
work=$(mktemp -d "${TMPDIR:-/var/tmp}/ringmaster-base.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root
debootstrap --variant=minbase bookworm "$root" "$mirror" >"$work/log" 2>&1 ||
    { tail -n 5 "$work/log" >&2; echo "base.sh: debootstrap failed" >&2; exit 69; }

cat >"$root/etc/apt/sources.list" <<END
deb $mirror bookworm main
deb $mirror bookworm-updates main
deb http://deb.debian.org/debian-security bookworm-security main
END
# What the official slim image leaves out, too: documents, caches, and packages' lists.
cat >"$root/etc/dpkg/dpkg.cfg.d/slim" <<'END'
path-exclude /usr/share/doc/*
path-include /usr/share/doc/*/copyright
path-exclude /usr/share/man/*
path-exclude /usr/share/info/*
path-exclude /usr/share/locale/*
END
echo 'APT::Install-Recommends "false";' >"$root/etc/apt/apt.conf.d/slim"
# As in the official image: a layer is whole or not there, so nothing waits for the disk.
echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/docker-apt-speedup"
find "$root/usr/share/doc" -type f ! -name copyright -delete
find "$root/usr/share/doc" -type l -delete
rm -rf "$root"/usr/share/man/* "$root"/usr/share/info/* "$root"/usr/share/locale/* \
    "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*.bin "$root"/var/cache/apt/archives/*.deb \
    "$root"/var/log/*.log "$root"/var/log/apt/* "$root"/var/cache/debconf/*-old
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
tar -C "$root" --one-file-system -c . |
    docker import --change 'CMD ["bash"]' --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
        - "$image" >/dev/null
echo "made $image"
