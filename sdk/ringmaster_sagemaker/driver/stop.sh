# For images with a bash older than 5.1: bash reads this file, named by BASH_ENV, before the command
# with which SageMaker's SDK starts a container, `chmod +x sm_train.sh && sm_train.sh`. Such a bash
# would fork for that command and not pass stop requests on. With this file process 1 itself runs
# the train script, which ends in an exec.
# shellcheck shell=bash
if [ "$$" = 1 ] && [[ ${BASH_EXECUTION_STRING-} == *sm_drivers/sm_train.sh ]]; then
    unset BASH_ENV
    . /opt/ml/input/data/sm_drivers/sm_train.sh
    exit
fi
