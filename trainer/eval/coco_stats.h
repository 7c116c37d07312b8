/* The twelve numbers that sum up an evaluation: means over the entries of the curves that exist,
 * summed in numpy's order (pairwise, blocks of 128 with eight partial sums), which the last bits
 * depend on. -1 where no entry exists. */
#ifndef TRAINER_EVAL_COCO_STATS_H
#define TRAINER_EVAL_COCO_STATS_H

#include "common/error.h"
#include "trainer/eval/coco_eval.h"

#include <stdbool.h>
#include <stddef.h>

struct coco_stat {
    bool precision; /* average precision; else average recall */
    int threshold;  /* number of the only one; -1 for the mean of all */
    size_t area;
    size_t limit;
};

/* The rows in their usual order: AP, AP50, AP75, AP small, medium, large, AR 1, 10, 100, AR small,
 * medium, large. */
extern const struct coco_stat COCO_STAT_ROWS[COCO_STATS];

/* Over all categories. */
int coco_stats(const struct coco_curves *curves, double ret[COCO_STATS], struct error *err);
/* Over one. */
int coco_stats_category(const struct coco_curves *curves, size_t category, double ret[COCO_STATS],
                        struct error *err);

/* The sum of COUNT numbers as numpy adds them. */
double coco_sum(const double *numbers, size_t count);

#endif
