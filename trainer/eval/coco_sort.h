/* Stable sort by falling score: equal scores keep their order, which the reference's numbers
 * depend on. */
#ifndef TRAINER_EVAL_COCO_SORT_H
#define TRAINER_EVAL_COCO_SORT_H

#include <stddef.h>
#include <stdint.h>

struct coco_scored {
    double score; /* not NaN */
    uint32_t number;
};

/* Sorts COUNT items; SCRATCH holds as many. */
void coco_sort(struct coco_scored *items, size_t count, struct coco_scored *scratch);

#endif
