/* COCO's detection scores, bit for bit those of pycocotools (the Python module cocoeval and numpy's
 * order of summation), for boxes and for masks.
 *
 * The caller gives ground truth and detections as two lists in file order, with images and
 * categories already numbered in ascending order of their ids. Objects are brought together by
 * (category, image); each such pair is matched for 10 overlap thresholds and 4 ranges of area;
 * then each category's detections are lined up by score and give precision over recall. Pairs and
 * categories are spread over threads; each result has its place, so that the numbers do not depend
 * on how many threads there are.
 *
 * Masks are asked for when a pair is matched and dropped behind it: memory does not grow with the
 * size of masks. Every mask is asked for, also where no pair needs it, so that a damaged one is
 * found always; of several the error of the first pair is returned. */
#ifndef TRAINER_EVAL_COCO_EVAL_H
#define TRAINER_EVAL_COCO_EVAL_H

#include "common/error.h"
#include "trainer/eval/coco_curves.h"
#include "trainer/eval/coco_input.h"

int coco_eval(const struct coco_input *input, struct coco_curves *ret, struct error *err);

#endif
