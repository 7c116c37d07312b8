/* Pairs of image and category: the ground truth and the detections of one category in one image.
 * Pairs are ordered by category, then image; objects within a pair as in the list. */
#ifndef TRAINER_EVAL_COCO_PAIRS_H
#define TRAINER_EVAL_COCO_PAIRS_H

#include "common/error.h"
#include "trainer/eval/coco_input.h"

#include <stddef.h>
#include <stdint.h>

struct coco_pair {
    uint32_t category;
    uint32_t truth_count;
    uint32_t found_count;
    size_t truth; /* where its objects begin in truth_order */
    size_t found; /* the same in found_order */
    size_t hits;  /* where its detections' outcomes begin (coco_match.h) */
};

struct coco_pairs {
    uint32_t *truth_order; /* owned, like all below: numbers in the list */
    uint32_t *found_order;
    struct coco_pair *list; /* pairs with at least one object */
    size_t count;
    size_t *category_start; /* category c: pairs category_start[c] to [c + 1] */
    size_t hit_count;
};

void coco_pairs_done(struct coco_pairs *pairs);
int coco_pairs_make(struct coco_pairs *ret, const struct coco_input *input, struct error *err);

#endif
