#!/bin/sh
# The SageMaker tutorial is checked against the services' own descriptions: the stack by cfn-lint,
# the notebook's calls by botocore's models. Nothing is sent to any service.
# shellcheck disable=SC2154
. "$(dirname "$0")/lib.sh"

command -v python3 >/dev/null || skip "no python3"
sh "$top/tests/venv.sh" tutorial cfn-lint==1.58.0 nbformat==5.11.1 botocore==1.44.8 || exit $?
bin=$top/build/tutorial/bin
sagemaker=$top/examples/sagemaker
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# W1030: the two subnets are empty by default, and are not used then.
the_stack_is_cloudformations() {
    check "cfn-lint finds nothing" "$bin/cfn-lint" --ignore-checks W1030 -- "$sagemaker/stack.yaml"
    sed 's/AWS::EFS::MountTarget/AWS::EFS::MountPoint/' "$sagemaker/stack.yaml" >"$work/stack.yaml"
    check "but in one that is wrong" refused \
        "$bin/cfn-lint" --ignore-checks W1030 -- "$work/stack.yaml"
}

refused() {
    ! "$@" >/dev/null 2>&1
}

the_notebook_calls_what_there_is() {
    "$RINGMASTER_BIN/ringmaster" metrics >"$work/metrics.json"
    check "it is a notebook" "$bin/python" -c 'import nbformat, sys
nbformat.validate(nbformat.read(sys.argv[1], 4))' "$sagemaker/tutorial.ipynb"
    check "its calls fit" "$bin/python" "$system/tutorial.py" "$top" "$work/metrics.json"
    mkdir -p "$work/top/examples" "$work/top/tests/golden"
    cp -r "$top/tests/golden/pictures" "$work/top/tests/golden/"
    cp -r "$sagemaker" "$work/top/examples/"
    sed -i 's/StackName=STACK/Stack=STACK/' "$work/top/examples/sagemaker/tutorial.ipynb"
    check "and one that does not is found" refused \
        "$bin/python" "$system/tutorial.py" "$work/top" "$work/metrics.json"
    cp "$sagemaker/tutorial.ipynb" "$work/top/examples/sagemaker/"
    check "a copy is as good" "$bin/python" "$system/tutorial.py" "$work/top" "$work/metrics.json"
    sed -i 's/ModelDataUrl/ModelUrl/' "$work/top/examples/sagemaker/tutorial.ipynb"
    check "an endpoint's call that does not fit is found" refused \
        "$bin/python" "$system/tutorial.py" "$work/top" "$work/metrics.json"
}

CASES=${CASES:-the_stack_is_cloudformations the_notebook_calls_what_there_is}
run_cases
finish
