/* COCO detection metrics, bit for bit those of pycocotools.
 *
 * The reference is the Python module cocoeval with numpy's order of summation, for boxes and for
 * masks.
 *
 * Input are ground truth and detections, two lists in file order, with images and categories
 * numbered in ascending order of their ids. Objects are grouped by (category, image). Each such
 * pair is matched for 10 overlap thresholds and 4 ranges of area; then each category's detections
 * are sorted by score, which gives precision over recall. Threads share pairs and categories; each
 * result has its own place, so the numbers do not depend on the number of threads.
 *
 * Masks are requested when a pair is matched and dropped afterwards: memory does not grow with the
 * size of masks. All masks are requested, even if no pair needs them, so that a damaged one is
 * always found; of several errors that of the first pair is returned. */
#ifndef TRAINER_EVAL_COCO_EVAL_H
#define TRAINER_EVAL_COCO_EVAL_H

#include "common/error.h"
#include "trainer/eval/coco_curve.h"
#include "trainer/eval/coco_input.h"

int coco_eval(const struct coco_input *input, struct coco_curves *ret, struct error *err);

#endif
