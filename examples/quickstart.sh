#!/bin/sh
# Three containers become one training job, from nothing, on this machine:
#
#   sh examples/quickstart.sh
#
# Installs what is missing, builds the image, makes a small set of pictures, trains a ResNet-20 on
# it with three containers and evaluates it. As root on a bare Debian 12 it needs no preparation;
# with a running Docker engine it needs no root. Where no engine can be started, three sets of
# namespaces replace the containers (this takes root).
#
# All output is in build/quickstart and .cache. EXAMPLE_DRIVER=ns|docker forces namespaces or
# Docker.
# shellcheck disable=SC2154,SC1091  # variables of containers.sh
set -eu
. "$(dirname "$0")/containers.sh"

containers_enter
say_phase 'three hosts and a set of pictures'
containers_up
containers_run ringtrain prepare shapes "$share/shapes"

say_phase 'training'
# shellcheck disable=SC2086  # flags
containers_train --data "$share/shapes" ${QUICKSTART_FLAGS:---model resnet20 \
    --image-size 24 --batch-size 12 --epochs 4 --lr 0.1 --lr-batch 36 --warmup-epochs 0.5 \
    --nesterov true}

say_phase 'results'
code=0
containers_results || code=1
# One picture of each class that no training has seen, to try the model with.
mkdir -p "$out/pictures"
for class in "$share/shapes/val"/*/; do
    for picture in "$class"*; do
        cp "$picture" "$out/pictures/$(basename "$class").jpg" && break
    done
done
say_phase ''
echo
echo "${row:-there is no evaluation row}"
if [ "$code" -ne 0 ] || ! at_least top1 0.9; then
    echo \
        "The job did not do what it should: three hosts that leave with 0, and top1 of 0.9 or more."
    containers_failures
    exit 1
fi
run=$(containers_command)
cat <<END

Model:  $out/model
Logs:   $out/algo-1.log algo-2.log algo-3.log
Took:   $(($(date +%s) - started)) s in all

What to try next
  $(containers_command "$out") ringtrain predict --model-dir $out/model \\
      --out $out/predictions $out/pictures
  $run train --data synthetic --steps 20
  $run train -- sh -c 'echo rank \$RANK of \$WORLD_SIZE'
  $run ringmaster --help
  sh examples/maskrcnn.sh  objects and their masks instead of classes
  sh tests/run.sh          the whole test suite
  docs/index.md            your own pictures, SageMaker, several machines
END
