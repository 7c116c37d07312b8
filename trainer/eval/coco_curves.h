/* Precision over recall of every category, threshold, area range and limit of detections. */
#ifndef TRAINER_EVAL_COCO_CURVES_H
#define TRAINER_EVAL_COCO_CURVES_H

#include "trainer/eval/coco_input.h"

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

#endif
