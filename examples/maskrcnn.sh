#!/bin/sh
# Trains a model from scratch in three containers on this machine; it finds objects and their masks:
#
#   sh examples/maskrcnn.sh
#
# Sets up what is missing and builds the image, as quickstart.sh does. Draws a set of pictures in
# COCO's layout, with circles, squares and triangles that overlap, trains a small Mask R-CNN on
# 1,000 of them in three containers, and evaluates it on 100 others. It takes a few minutes on two
# cores.
#
# All output is in build/maskrcnn and .cache. EXAMPLE_DRIVER=ns|docker chooses how the hosts run.
# MASKRCNN_FLAGS replaces the recipe, and then no scores are required. MASKRCNN_KILL=STEP kills a
# rank of the second container once that step is logged, with RINGMASTER_RESTARTS=1: the checksum of
# the weights printed at the end is the same as without it.
# shellcheck disable=SC2154,SC1091,SC2034  # variables of containers.sh
set -eu
. "$(dirname "$0")/containers.sh"

containers_enter
say_phase 'three hosts and a set of pictures'
containers_up
containers_run ringtrain prepare shapes --coco "$share/shapes" --train 1000 --validation 100

say_phase 'training'
kill_a_rank() { containers_kill 2 " step=$MASKRCNN_KILL "; }
if [ -n "${MASKRCNN_KILL:-}" ]; then
    containers_with='-e RINGMASTER_RESTARTS=1'
    containers_fault=kill_a_rank
fi
# shellcheck disable=SC2086  # flags
containers_train --data "$share/shapes" ${MASKRCNN_FLAGS:---recipe shapes}

say_phase 'results'
code=0
containers_results || code=1
found=$(hosts opt 1)/output/data/pictures
[ ! -d "$found" ] || cp -r "$found" "$out/pictures"
say_phase ''
echo
echo "${row:-there is no evaluation row}"
# AP50 was 0.84 for both boxes and masks; its last digits differ between processors.
learnt() {
    at_least bbox_mAP 0.5 && at_least segm_mAP 0.45 &&
        at_least bbox_AP50 0.8 && at_least segm_AP50 0.8
}
if [ "$code" -ne 0 ] || { [ -z "${MASKRCNN_FLAGS:-}" ] && ! learnt; }; then
    echo "The job did not do what it should: three hosts that leave with 0, box mAP of 0.5, mask mAP of 0.45, and both AP50 of 0.8."
    containers_failures
    exit 1
fi
if [ -n "${MASKRCNN_KILL:-}" ] && ! grep -q 'resumed from ' "$out/algo-1.log"; then
    echo "No rank was killed: step $MASKRCNN_KILL was never told, or came too late."
    exit 1
fi
run=$(containers_command)
[ ! -d "$out/pictures" ] ||
    echo "Pictures:  $out/pictures   the truth on the left, what was found on the right"
cat <<END

Model:     $out/model   weights $(sed -n 's/.*"weights": "\(.*\)".*/\1/p' "$out/model/config.json")
Logs:      $out/algo-1.log algo-2.log algo-3.log
Took:      $(($(date +%s) - started)) s in all

What to try next
  $run ringtrain train --help --model maskrcnn_resnet50_fpn
  docs/index.md            COCO, SageMaker, several machines
END
