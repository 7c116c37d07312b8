/* The curves of an evaluation as NumPy files (format 1.0), for those who look further: KIND is put
 * in front, as in bbox.precision.npy [10, 101, categories, 4, 3], bbox.scores.npy of the same
 * shape and bbox.recall.npy [10, categories, 4, 3]. Read with numpy.load. */
#ifndef TRAINER_EVAL_COCO_ARRAYS_H
#define TRAINER_EVAL_COCO_ARRAYS_H

#include "common/error.h"
#include "trainer/eval/coco_eval.h"

/* Makes FOLDER when missing, and sees that nothing but such arrays stands where they go: before the
 * work. */
int coco_arrays_check(const char *folder, struct error *err);

/* FOLDER is made when missing. */
int coco_arrays_write(const struct coco_curves *curves, const char *folder, const char *kind,
                      struct error *err);

#endif
