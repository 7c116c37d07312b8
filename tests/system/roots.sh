# Root directories of other distributions, in which hosts run the static launcher. They are made
# once, in .cache/static/roots. Sourced after lib.sh, with `dynamic` set to the folder of this
# machine's programs.
# shellcheck shell=sh disable=SC2154,SC2016

roots=$top/.cache/static/roots
mkdir -p "$roots"

# take_static_launcher [PROGRAM]...: builds the static launcher and sets $file to its path. The
# script is skipped if a program for that, or one of the PROGRAMs, is missing.
take_static_launcher() {
    for program in cmake ninja perl pkg-config "$@"; do
        command -v "$program" >/dev/null || skip "no $program"
    done
    sh "$top/docker/static.sh" || { echo "FAILED: docker/static.sh"; exit 1; }
    file=$top/build/static-x86_64/bin/ringmaster
    # The program that measures the machine's delays (lag.c) is this machine's.
    export RINGMASTER_BIN="$dynamic"
}

# root_of NAME: makes that root once and sets $root to its folder; fails if its packages cannot be
# fetched. NAME is debian-12 or debian-13, with "-pytorch" at its end for Debian's own PyTorch, or
# busybox, or musl.
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
    # The ring's own files are mounted over these, which some roots lack.
    for own in hosts resolv.conf; do [ -f "$root/etc/$own" ] || : >"$root/etc/$own"; done
    : >"$root/made"
}

# debian_root SUITE [-pytorch]: uses mmdebstrap, which is faster, or else debootstrap.
debian_root() {
    more=
    [ -z "$2" ] || more=--include=python3-torch
    set -- "$1" "$root" http://deb.debian.org/debian
    if command -v mmdebstrap >/dev/null; then
        mmdebstrap --mode=root --variant=minbase --format=directory \
            --aptopt='Acquire::Retries "3"' \
            --dpkgopt=force-unsafe-io $more "$@" >"$root.log" 2>&1
    else
        debootstrap --variant=minbase $more "$@" >"$root.log" 2>&1
    fi && return
    tail -n 3 "$root.log"
    return 1
}

# A root like Alpine's: busybox and its links, and files in /etc.
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

# unpacked PACKAGE FILE...: unpacks those files of a Debian package into the root.
unpacked() {
    package=$1
    shift
    (cd "$roots" && apt-get download "$package" >/dev/null 2>&1) &&
        dpkg-deb --fsys-tarfile "$roots/$package"_*.deb | tar -C "$root" -xf - "$@"
}

# Adds the loader of musl, which is its C library as well.
musl_root() { unpacked musl ./lib ./etc; }

# The files of the ring that the root gets.
given="hosts resolv.conf"

# Prints a script by which a host's first process moves into the root, with the host's own folders
# in it (host.c).
entering() {
    echo "root=$root"
    echo "given='$given'"
    echo 'for own in opt tmp run var/tmp proc dev dev/shm; do
            mount --rbind "/$own" "$root/$own" || exit 99
        done
        for own in $given; do mount --bind "/etc/$own" "$root/etc/$own" || exit 99; done
        unset script host given
        exec chroot "$root" /usr/bin/env -i "$@"'
}

# in_root HOST [-e NAME=VALUE]... COMMAND...: starts the host in the root.
in_root() {
    number=$1
    shift
    hosts start "$number" -p "$(entering)" -e PATH=/usr/local/bin:/usr/bin:/bin "$@"
}

# enter NAME: makes that root and installs the static launcher in it; the case is skipped if it
# cannot be made.
enter() {
    root_of "$1" || { skip_case "no way to $1's packages"; return 1; }
    as_root "chroot needs it"
    install -m 755 "$file" "$root/usr/local/bin/ringmaster"
    ln -sf ringmaster "$root/usr/local/bin/train"
    [ -e "$root/usr/bin/env" ] || ln -s ../../bin/busybox "$root/usr/bin/env"
}
