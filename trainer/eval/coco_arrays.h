/* Precision-recall curves of an evaluation as NumPy files (format 1.0). KIND is the prefix, as in
 * bbox.precision.npy [10, 101, categories, 4, 3], bbox.scores.npy of the same shape and
 * bbox.recall.npy [10, categories, 4, 3]. Read them with numpy.load. */
#ifndef TRAINER_EVAL_COCO_ARRAYS_H
#define TRAINER_EVAL_COCO_ARRAYS_H

#include "common/error.h"
#include "trainer/eval/coco_eval.h"

/* Call before the work: creates FOLDER if it is missing, and checks that the files there with
 * these names, if any, are such arrays. */
int coco_arrays_check(const char *folder, struct error *err);

/* Creates FOLDER if it is missing. */
int coco_arrays_write(const struct coco_curves *curves, const char *folder, const char *kind,
                      struct error *err);

#endif
