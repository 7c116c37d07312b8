#!/bin/sh
# Prepares a namespace host by the script of its test, as root, then becomes the host's command.
#
#   bash host_prepare.sh SCRIPT HOST [NAME=VALUE]... COMMAND ARGS...
#
# HOST is the program host (host.c). SCRIPT is sourced, and may itself execute the words.
set -eu
script=$1
host=$2
shift 2
# shellcheck source=/dev/null
. "$script" || exit 99
# mount has created this folder.
rm -rf /run/mount 2>/dev/null || :
exec "$host" become "$@"
