/* Precision-recall curve of one category, for one area range and one limit of detections. */
#ifndef TRAINER_EVAL_COCO_CURVE_H
#define TRAINER_EVAL_COCO_CURVE_H

#include "common/error.h"
#include "trainer/eval/coco_curves.h"
#include "trainer/eval/coco_match.h"
#include "trainer/eval/coco_sort.h"

#include <stddef.h>
#include <stdint.h>

struct coco_curve_input {
    const struct coco_hit *hits;      /* all outcomes */
    const struct coco_scored *sorted; /* this category's, by falling score: numbers of hits */
    size_t count;
    size_t category;
    size_t area;
    size_t truth_count; /* objects that count in this area range; above 0 */
};

/* Scratch memory that a thread reuses from curve to curve. Initialize with zeros. */
struct coco_curve_scratch {
    double *precision; /* owned: at each true positive */
    double *score;     /* owned */
    size_t capacity;
};

void coco_curve_scratch_done(struct coco_curve_scratch *room);

/* Fills in all limits and thresholds of the category and area. */
int coco_curve(struct coco_curve_scratch *room, const struct coco_curve_input *input,
               struct coco_curves *ret, struct error *err);

#endif
