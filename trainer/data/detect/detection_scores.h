/* The 24 numbers of an evaluation: COCO's twelve for boxes and for masks (eval/coco_stats.h). Areas
 * are the boxes' where boxes are scored and the masks' where masks are, as when each is scored from
 * a file of its own. */
#ifndef TRAINER_DATA_DETECT_DETECTION_SCORES_H
#define TRAINER_DATA_DETECT_DETECTION_SCORES_H

#include "common/error.h"
#include "trainer/data/coco/coco_index.h"
#include "trainer/data/coco/coco_results.h"
#include "trainer/eval/coco_eval.h"

#include <stdbool.h>
#include <stddef.h>

struct detection_scores {
    double box[COCO_STATS]; /* -1 where there is nothing to be found */
    double mask[COCO_STATS];
    bool masks;      /* whether there are masks to score */
    size_t left_out; /* results of categories that are not listed */
};

/* THREADS: 0 for as many as there are processors; the numbers do not depend on it. */
int detection_scores(const struct coco_index *index, const struct coco_results *results,
                     int threads, struct detection_scores *ret, struct error *err);

#endif
