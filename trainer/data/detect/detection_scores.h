/* The 24 numbers of an evaluation: COCO's twelve for boxes and for masks (eval/coco_stats.h).
 * Areas are those of boxes for box scores and those of masks for mask scores, as if each were
 * scored from its own file. */
#ifndef TRAINER_DATA_DETECT_DETECTION_SCORES_H
#define TRAINER_DATA_DETECT_DETECTION_SCORES_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/coco/coco_index.h"
#include "trainer/data/coco/coco_results.h"
#include "trainer/eval/coco_eval.h"
#include "trainer/eval/coco_report.h"

#include <stdbool.h>
#include <stddef.h>

struct detection_scores {
    double box[COCO_STATS]; /* -1 if there is nothing to detect */
    double mask[COCO_STATS];
    bool masks;      /* there are masks to score */
    size_t left_out; /* results of unlisted categories */
};

/* THREADS: 0 for as many as processors; the numbers do not depend on it. Appends a table by
 * category for boxes, and one for masks, to TABLE, unless it is NULL; a double for each category to
 * BY_CATEGORY, unless it is NULL: AP of its masks, else of its boxes, -1 where there is none. */
int detection_scores(const struct coco_index *index, const struct coco_results *results,
                     int threads, struct detection_scores *ret, struct buf *table,
                     struct buf *by_category, struct error *err);

/* Lists the categories of INDEX with their objects; the caller frees *RET, but not the names in it.
 */
int detection_scores_categories(const struct coco_index *index, struct coco_report_category **ret,
                                struct error *err);

#endif
