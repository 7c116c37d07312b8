# Sets up the benchmarks of classifiers beside PyTorch; source it from the root of the tree, with
# the name of a set in SET. The scripts' arguments are the seeds.
#
#   RINGMASTER_DATA   a folder with SET, or with SET.tar.gz, which is unpacked
#   PYTHON            a Python with torch and torchvision, default python3
#   PRESET            preset of the build that is measured, default release
#   OUT               a folder that keeps models and logs
#
# It sets python, ringtrain, work (a folder that is removed at the end), out and data.
# shellcheck shell=sh disable=SC2034  # used by the scripts that source it

[ -n "${RINGMASTER_DATA:-}" ] || { echo "RINGMASTER_DATA names no folder" >&2; exit 64; }
python=${PYTHON:-python3}
ringtrain=build/${PRESET:-release}/bin/ringtrain
[ -x "$ringtrain" ] || { echo "$ringtrain is not built" >&2; exit 64; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=${OUT:-$work}
mkdir -p "$out"
data=$RINGMASTER_DATA/$SET
if [ ! -d "$data" ]; then
    tar -xzf "$RINGMASTER_DATA/$SET.tar.gz" -C "$work"
    data=$work/$SET
fi
