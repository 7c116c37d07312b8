#!/bin/sh
# Tests that rank 0 gathers blocks of different sizes from all ranks, in several rounds.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
need_mpirun
program=$(dirname "$ringtrain")/../tests/gather_ranks
[ -x "$program" ] || skip "no gather_ranks in this build"
for n in 1 2 3; do
    ranks "$n" "$program" >"$work/out" 2>"$work/err" || { cat "$work/err"; fail "$n ranks"; }
    [ "$(grep -c gathered "$work/out")" = "$n" ] || { cat "$work/out"; fail "$n ranks: not all"; }
    echo "$n ranks"
done
