# Sets up the benchmarks beside torchvision; source it from the root of the tree.
#
#   DATA       the unpacked COCO128 (annotations/ and train2017/)
#   THREADS    threads of each side; default 2
#   PYTHON     a Python with the packages that need_python checks for; default python3
#   RINGTRAIN  our program; default that of PRESET (release), which is built if it is missing
# shellcheck shell=sh disable=SC2034  # used by the scripts that source it

DATA=${DATA:?the folder of COCO128, with annotations/ and train2017/}
THREADS=${THREADS:-2}
PRESET=${PRESET:-release}
PYTHON=${PYTHON:-python3}
RINGTRAIN=${RINGTRAIN:-build/$PRESET/bin/ringtrain}

if [ ! -x "$RINGTRAIN" ]; then
    { cmake --preset "$PRESET" && cmake --build "build/$PRESET" --target ringtrain -j2; } \
        >/dev/null || exit 1
fi

# need_python PACKAGE...
need_python() {
    for package in "$@"; do
        "$PYTHON" -c "import $package" 2>/dev/null || {
            echo "${0##*/}: $PYTHON has no $package" >&2
            exit 1
        }
    done
}
