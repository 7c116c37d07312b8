# For images with a bash older than 5.1, by BASH_ENV: bash reads it before the command with which
# SageMaker's SDK starts a container, `chmod +x sm_train.sh && sm_train.sh`. It would fork for that
# and keep stop requests for itself; here process 1 runs the train script, which ends in an exec.
# shellcheck shell=bash
if [ "$$" = 1 ] && [[ ${BASH_EXECUTION_STRING-} == *sm_drivers/sm_train.sh ]]; then
    unset BASH_ENV
    . /opt/ml/input/data/sm_drivers/sm_train.sh
    exit
fi
