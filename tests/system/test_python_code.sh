#!/bin/sh
# Tests Python programs as SageMaker's SDK sends them: requirements.txt and packages are installed
# once per host by the image's own pip, without a network, below the host's /opt/ml.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

[ "$DRIVER" = ns ] || skip "the image has no Python"
hosts_path=/usr/local/bin:/usr/bin:/bin
PATH=$hosts_path python3 -m pip --version >/dev/null 2>&1 ||
    skip "no python3 with pip in $hosts_path"

# begin HYPERPARAMETERS: makes two hosts with the packages of python_code.py.
begin() {
    front=
    ring 2
    put hyperparameters.json "$1"
    for host in $everyone; do
        check "host $host has code to bring" python3 "$system/python_code.py" \
            "$(hosts opt "$host")/made" || return
        mkdir -p "$(hosts opt "$host")/code"
    done
}

# start [-e NAME=VALUE]...: starts train on both hosts, with settings for pip.
start() {
    start_all -e PATH="$front$RINGMASTER_BIN:$hosts_path" -e HOME=/opt/ml/home \
        -e PYTHONUSERBASE=/opt/ml/user -e PIP_USER=1 -e PIP_FIND_LINKS=/opt/ml/made/wheels \
        "$@" -- train
}

take_package() {
    for host in $everyone; do
        cp -r "$(hosts opt "$host")/made/package/." "$(hosts opt "$host")/code"
    done
}

requirements_are_installed_once_a_host() {
    begin '{"sagemaker_program": "train.py", "sagemaker_mpi_num_of_processes_per_host": "2", "lr": "0.1"}' || return
    code_file requirements.txt '--no-index
--extra-index-url https://user:canary-of-packages@127.0.0.1:9/simple
answer==1.0'
    code_file train.py 'import answer, sys; print("the answer is", answer.NUMBER, sys.argv[1:])'
    start
    all_end 90 0 $everyone || return
    every_log_has "the answer is 42 ['--lr', '0.1']"
    for host in $everyone; do
        check "host $host installs it once" equal \
            "$(hosts log "$host" | grep -c 'pip\] Successfully installed answer-1.0')" 1
        check "host $host keeps the secret" lacks "$(hosts log "$host")" canary-of-packages
    done
}

a_package_is_installed_and_runs_as_its_module() {
    begin '{"sagemaker_program": "job.main", "lr": "0.1"}' || return
    take_package
    start -e PIP_NO_INDEX=1
    all_end 90 0 $everyone || return
    every_log_has "module __main__ 42 ['--lr', '0.1']"
}

# As in SageMaker's training toolkit, a program with a setup.py beside it is installed, and runs as
# a module.
a_package_with_setup_py_runs_its_program() {
    PATH=$hosts_path python3 -c 'import setuptools, wheel' 2>/dev/null ||
        { skip_case "no setuptools with wheel in $hosts_path"; return; }
    begin '{"sagemaker_program": "train.py", "lr": "0.1", "none": "null"}' || return
    code_file setup.py 'from setuptools import setup
setup(name="trial", version="1.0", py_modules=["train", "helper"], install_requires=["answer"])'
    code_file helper.py 'WORD = "helped"'
    code_file train.py 'import answer, helper, sys
where = "installed" if "/opt/ml/user/" in helper.__file__ else helper.__file__
print("setup", __name__, answer.NUMBER, helper.WORD, where, sys.argv[1:])'
    start -e PIP_NO_INDEX=1
    all_end 90 0 $everyone || return
    every_log_has "setup __main__ 42 helped"
    every_log_has "['--lr', '0.1', '--none', '']"
    for host in $everyone; do
        check "host $host has it installed" \
            test -e "$(echo "$(hosts opt "$host")"/user/lib/*/site-packages/helper.py)"
    done
}

what_cannot_be_installed_ends_the_job_with_pips_words() {
    begin '{"sagemaker_program": "train.py"}' || return
    code_file train.py 'print("never")'
    code_file requirements.txt 'no-such-thing==7'
    start -e PIP_RETRIES=0 -e PIP_INDEX_URL=http://user:canary-of-an-index@127.0.0.1:9/simple
    all_end 90 65 $everyone || return
    all_name 'cannot be installed: pip exited with 1' $everyone
    all_name 'No matching distribution found for no-such-thing==7' $everyone
    for host in $everyone; do
        check "host $host keeps the secret" lacks "$(hosts log "$host")$(failure_of "$host")" \
            canary-of-an-index
        check "host $host does not run it" lacks "$(hosts log "$host")" never
    done
}

an_image_without_pip_says_so() {
    begin '{"sagemaker_program": "train.py"}' || return
    code_file train.py 'print("never")'
    code_file requirements.txt 'answer'
    for host in $everyone; do
        check "a Python without pip" env PATH="$hosts_path" \
            python3 -m venv --without-pip "$(hosts opt "$host")/bare"
    done
    front=/opt/ml/bare/bin:
    start -e PIP_NO_INDEX=1
    all_end 90 65 $everyone || return
    all_name 'No module named pip' $everyone
}

what_takes_too_long_ends_the_job() {
    begin '{"sagemaker_program": "job.main"}' || return
    take_package
    fault_begins
    start -e PIP_NO_INDEX=1 -e WAIT=600 -e RINGMASTER_FETCH_SECONDS=5
    all_end "$PATIENCE" 69 $everyone || return
    within $((5000 + LEAVE_MS)) $everyone
    all_name 'were not installed within 5 s' $everyone
}

a_stop_ends_installing() {
    begin '{"sagemaker_program": "job.main"}' || return
    take_package
    start -e PIP_NO_INDEX=1 -e WAIT=600
    wait_for 60 says 1 'algo-2 is here and downloads' ||
        check "they meet while they install" false || return
    fault_begins
    hosts stop 1
    all_end "$PATIENCE" 143 $everyone || return
    within "$LEAVE_MS" $everyone
}

# The code's packages are built and installed as the user that runs the program, which finds them.
another_user_installs_what_it_needs() {
    as_root "RINGMASTER_USER needs root to become another user"
    begin '{"sagemaker_program": "job.main", "lr": "0.1"}' || return
    take_package
    for host in $everyone; do
        mkdir "$(hosts opt "$host")/user" && chown 4321 "$(hosts opt "$host")/user"
    done
    start -e PIP_NO_INDEX=1 -e RINGMASTER_USER=4321
    all_end 90 0 $everyone || return
    every_log_has "module __main__ 42 ['--lr', '0.1']"
    for host in $everyone; do
        by=$(cat "$(hosts opt "$host")"/user/lib/*/site-packages/job/built_by)
        check "host $host builds as that user" equal "$by" 4321
        check "host $host installs as that user" equal \
            "$(stat -c %u "$(hosts opt "$host")"/user/lib/*/site-packages/answer.py)" 4321
    done
}

# If this user cannot write to the folder, pip's own message is in the failure file.
another_user_has_no_place_for_it() {
    as_root "RINGMASTER_USER needs root to become another user"
    begin '{"sagemaker_program": "job.main"}' || return
    take_package
    start -e PIP_NO_INDEX=1 -e RINGMASTER_USER=4321
    all_end 90 65 $everyone || return
    all_name "Permission denied: '/opt/ml/user'" $everyone
}

CASES=${CASES:-requirements_are_installed_once_a_host a_package_is_installed_and_runs_as_its_module
    a_package_with_setup_py_runs_its_program
    what_cannot_be_installed_ends_the_job_with_pips_words an_image_without_pip_says_so
    what_takes_too_long_ends_the_job a_stop_ends_installing another_user_installs_what_it_needs
    another_user_has_no_place_for_it}
run_cases
finish
