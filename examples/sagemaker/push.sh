#!/bin/sh
# Pushes the image to your account's registry and prints its name for create-training-job.json.
#
#   sh examples/sagemaker/push.sh [REPOSITORY [TAG]]      default: ringmaster latest
#
# Needs the aws program with credentials and a region, and a Docker engine with the image
# (docker/build.sh). The repository is created if it does not exist. Then:
#
#   aws sagemaker create-training-job \
#       --cli-input-json file://examples/sagemaker/create-training-job.json
set -eu

repository=${1:-ringmaster}
tag=${2:-latest}
account=$(aws sts get-caller-identity --query Account --output text)
region=$(aws configure get region || echo "${AWS_REGION:?no region: aws configure, or AWS_REGION}")
registry=$account.dkr.ecr.$region.amazonaws.com

aws ecr describe-repositories --repository-names "$repository" >/dev/null 2>&1 ||
    aws ecr create-repository --repository-name "$repository" >/dev/null
aws ecr get-login-password | docker login --username AWS --password-stdin "$registry"
docker tag "${RINGMASTER_IMAGE:-ringmaster:latest}" "$registry/$repository:$tag"
docker push "$registry/$repository:$tag"
echo "TrainingImage: $registry/$repository:$tag"
