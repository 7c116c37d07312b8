/* Results as bytes that ranks of one job send each other. */
#ifndef TRAINER_DATA_COCO_COCO_RESULTS_PACK_H
#define TRAINER_DATA_COCO_COCO_RESULTS_PACK_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/coco/coco_results.h"

#include <stddef.h>

/* Appends RESULTS to OUT. */
int coco_results_pack(const struct coco_results *results, struct buf *out, struct error *err);
/* Appends what was packed to RESULTS, which were begun. Damaged bytes are refused. */
int coco_results_unpack(struct coco_results *results, const void *bytes, size_t size,
                        struct error *err);

/* By image; those of one image keep their order. So what many ranks found in turn stands as if one
 * had found it. */
int coco_results_sort(struct coco_results *results, struct error *err);

#endif
