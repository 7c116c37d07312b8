# Root directories that are not ours, in which hosts run the static launcher. Sourced after lib.sh, with `dynamic` set to
# the folder of this machine's programs; they are made once and lie in .cache/static/roots.
# shellcheck shell=sh disable=SC2154,SC2016

roots=$top/.cache/static/roots
mkdir -p "$roots"

# take_static_launcher [PROGRAM]...: builds the static launcher, which $file is from then on; the script is skipped where
# a program for that, or one of the PROGRAMs, is missing.
take_static_launcher() {
    for program in cmake ninja perl pkg-config "$@"; do
        command -v "$program" >/dev/null || skip "no $program"
    done
    sh "$top/docker/static.sh" || { echo "FAILED: docker/static.sh"; exit 1; }
    file=$top/build/static-x86_64/bin/ringmaster
    # A program that the tests time by is this machine's.
    export RINGMASTER_BIN="$dynamic"
}

# root_of NAME: a folder with that root, made once; 1 where there is no way to its packages. NAME is debian-12 or
# debian-13, either with "-pytorch" at its end for Debian's own PyTorch, or busybox, or musl.
root_of() {
    root=$roots/$1
    [ ! -e "$root/made" ] || return 0
    rm -rf "$root"
    case $1 in
    debian-12*) debian_root bookworm "${1#debian-12}" || return 1 ;;
    debian-13*) debian_root trixie "${1#debian-13}" || return 1 ;;
    busybox) busybox_root || return 1 ;;
    musl) busybox_root && musl_root || return 1 ;;
    esac
    mkdir -p "$root/usr/local/bin" "$root/opt" "$root/proc" "$root/dev"
    # Where the ring's own files lie then: nothing has made them in some roots.
    for own in hosts resolv.conf; do [ -f "$root/etc/$own" ] || : >"$root/etc/$own"; done
    : >"$root/made"
}

# debian_root SUITE [-pytorch]: by mmdebstrap, which is faster, or debootstrap.
debian_root() {
    more=
    [ -z "$2" ] || more=--include=python3-torch
    set -- "$1" "$root" http://deb.debian.org/debian
    if command -v mmdebstrap >/dev/null; then
        mmdebstrap --mode=root --variant=minbase --format=directory --aptopt='Acquire::Retries "3"' \
            --dpkgopt=force-unsafe-io $more "$@" >"$root.log" 2>&1
    else
        debootstrap --variant=minbase $more "$@" >"$root.log" 2>&1
    fi && return
    tail -n 3 "$root.log"
    return 1
}

# As Alpine's: busybox and its links, and files in /etc.
busybox_root() {
    mkdir -p "$root/bin" "$root/etc" "$root/tmp" "$root/run" "$root/var/tmp" "$root/usr/bin"
    unpacked busybox-static ./bin/busybox || return 1
    for applet in $("$root/bin/busybox" --list); do
        [ "$applet" = busybox ] || ln -sf busybox "$root/bin/$applet"
    done
    echo 'root:x:0:0:root:/root:/bin/sh
worker:x:4321:4321:worker:/home/worker:/bin/sh' >"$root/etc/passwd"
    echo 'root:x:0:
worker:x:4321:' >"$root/etc/group"
    : >"$root/etc/hosts"
    : >"$root/etc/resolv.conf"
}

# unpacked PACKAGE FILE...: those files of a Debian package lie in the root then.
unpacked() {
    package=$1
    shift
    (cd "$roots" && apt-get download "$package" >/dev/null 2>&1) &&
        dpkg-deb --fsys-tarfile "$roots/$package"_*.deb | tar -C "$root" -xf - "$@"
}

# With the loader of musl, which is its C library as well.
musl_root() { unpacked musl ./lib ./etc; }

# Files of the ring that the root gets.
given="hosts resolv.conf"

# A host's first process sees this root from then on, with the host's own folders in it (host_init.sh).
entering() {
    echo "root=$root"
    echo "given='$given'"
    echo 'for own in opt tmp run var/tmp proc dev dev/shm; do mount --rbind "/$own" "$root/$own" || exit 99; done
        for own in $given; do mount --bind "/etc/$own" "$root/etc/$own" || exit 99; done
        unset folder name given
        exec chroot "$root" /usr/bin/env -i "$@"'
}

# in_root HOST [-e NAME=VALUE]... COMMAND...: there, with the one file in it.
in_root() {
    number=$1
    shift
    hosts start "$number" -p "$(entering)" -e PATH=/usr/local/bin:/usr/bin:/bin "$@"
}

enter() {
    root_of "$1" || { skip_case "no way to $1's packages"; return 1; }
    as_root "chroot needs it"
    install -m 755 "$file" "$root/usr/local/bin/ringmaster"
    ln -sf ringmaster "$root/usr/local/bin/train"
    [ -e "$root/usr/bin/env" ] || ln -s ../../bin/busybox "$root/usr/bin/env"
}
