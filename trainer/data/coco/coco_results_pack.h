/* Serialization of results, for transfer between ranks of a job. */
#ifndef TRAINER_DATA_COCO_COCO_RESULTS_PACK_H
#define TRAINER_DATA_COCO_COCO_RESULTS_PACK_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/coco/coco_results.h"

#include <stddef.h>

/* Appends RESULTS to OUT. */
int coco_results_pack(const struct coco_results *results, struct buf *out, struct error *err);
/* Appends packed bytes to RESULTS, after coco_results_begin. Damaged bytes are refused. */
int coco_results_unpack(struct coco_results *results, const void *bytes, size_t size,
                        struct error *err);

/* Sorts by image, stably. So the results of several ranks, gathered in rank order, are as if one
 * rank had found them. */
int coco_results_sort(struct coco_results *results, struct error *err);

#endif
