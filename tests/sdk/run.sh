#!/bin/sh
# Tests the package in sdk/ with SageMaker's SDK from PyPI (in build/sdk-3, as
# tests/system/test_sdk.sh does).
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
sh "$top/tests/venv.sh" sdk-3 'sagemaker-train==1.27.0' 'sagemaker-core==2.27.0' || exit
export PYTHONPATH="$top/sdk" PYTHONDONTWRITEBYTECODE=1
export AWS_DEFAULT_REGION=us-east-1 AWS_EC2_METADATA_DISABLED=true
exec "$top/build/sdk-3/bin/python" -m unittest discover -s "$top/tests/sdk"
