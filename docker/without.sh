#!/bin/sh
# Installs an empty package in place of packages that Debian's Open MPI depends on and an image with
# ringmaster does not need (root).
#
#   sh docker/without.sh run      replaces an ssh client, as ringmaster launches over its own link,
#                                 and plug-ins that draw topologies on X11
#   sh docker/without.sh build    also replaces a Fortran compiler, automake with its Perl, and
#                                 scripts of web pages
set -eu

case ${1:-} in
run) provides="ssh-client, libhwloc-plugins" ;;
build)
    provides="ssh-client, libhwloc-plugins, gfortran-mod-15, automake-1.16, libjs-jquery, libjs-jquery-ui"
    ;;
*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 64 ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tree/DEBIAN"
printf '%s\n' 'Package: ringmaster-without' 'Version: 1' 'Architecture: all' \
    'Maintainer: Ringmaster' "Provides: $provides" \
    'Description: stands in for what an image with ringmaster does not need' \
    >"$work/tree/DEBIAN/control"
dpkg-deb --build "$work/tree" "$work/without.deb" >/dev/null
dpkg -i "$work/without.deb" >/dev/null
