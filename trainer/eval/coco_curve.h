/* Precision-recall curves of COCO's evaluation.
 *
 * struct coco_curves has those of every category, threshold, area range and limit of detections;
 * coco_curve fills in those of one category and one area range. */
#ifndef TRAINER_EVAL_COCO_CURVE_H
#define TRAINER_EVAL_COCO_CURVE_H

#include "common/error.h"
#include "trainer/eval/coco_input.h"
#include "trainer/eval/coco_match.h"
#include "trainer/eval/coco_sort.h"

#include <stddef.h>

/* All owned; -1 if a category has no objects. Index order as in pycocotools' eval: precision and
 * score [threshold][recall][category][area][limit], recall without [recall]. */
struct coco_curves {
    double *precision;
    double *score;
    double *recall;
    size_t category_count;
};

void coco_curves_done(struct coco_curves *curves);

static inline size_t coco_recall_index(const struct coco_curves *curves, size_t threshold,
                                       size_t category, size_t area, size_t limit) {
    return ((threshold * curves->category_count + category) * COCO_AREAS + area) * COCO_LIMITS +
           limit;
}
static inline size_t coco_precision_index(const struct coco_curves *curves, size_t threshold,
                                          size_t recall, size_t category, size_t area,
                                          size_t limit) {
    return coco_recall_index(curves, threshold * COCO_RECALLS + recall, category, area, limit);
}

#define cleanup_coco_curves __attribute__((cleanup(coco_curves_done)))

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
