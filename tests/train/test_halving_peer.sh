#!/bin/sh
# Compares successive halving with Optuna's SuccessiveHalvingPruner: on complete rungs both keep the
# same configurations.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
sh "$top/tests/venv.sh" optuna optuna==5.0.0 >"$work/venv" 2>&1 || {
    cat "$work/venv"
    skip "Optuna is not here"
}
"$top/build/optuna/bin/python" "$(dirname "$0")/halving_optuna.py" "$tools/halving_keep" ||
    fail "other configurations than Optuna's"
checks=$((checks + 1))
