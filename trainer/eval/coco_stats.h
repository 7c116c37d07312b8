/* The twelve summary metrics of an evaluation: means over the valid entries of the curves, in
 * numpy's order of summation (pairwise, blocks of 128 with eight partial sums), which the last
 * bits depend on. -1 if no entry is valid. */
#ifndef TRAINER_EVAL_COCO_STATS_H
#define TRAINER_EVAL_COCO_STATS_H

#include "common/error.h"
#include "trainer/eval/coco_eval.h"

#include <stdbool.h>
#include <stddef.h>

struct coco_stat {
    bool precision; /* average precision; else average recall */
    int threshold;  /* index of the only one; -1: mean over all */
    size_t area;
    size_t limit;
};

/* The rows in their usual order: AP, AP50, AP75, AP small, medium, large, AR 1, 10, 100, AR small,
 * medium, large. */
extern const struct coco_stat COCO_STAT_ROWS[COCO_STATS];

/* Over all categories. */
int coco_stats(const struct coco_curves *curves, double ret[COCO_STATS], struct error *err);
/* For one category. */
int coco_stats_category(const struct coco_curves *curves, size_t category, double ret[COCO_STATS],
                        struct error *err);

/* Returns the sum of COUNT numbers in numpy's order. */
double coco_sum(const double *numbers, size_t count);

#endif
