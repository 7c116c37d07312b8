/* Writer of results as JSON for pycocotools' loadRes. Numbers have 17 digits, which restore every
 * bit.
 *
 * If a result has a box, loadRes takes its area from the box, also when masks are scored, which
 * COCO's own evaluation of masks does not intend: write COCO_PARTS_MASKS for that. */
#ifndef TRAINER_DATA_COCO_COCO_RESULTS_WRITE_H
#define TRAINER_DATA_COCO_COCO_RESULTS_WRITE_H

#include "common/error.h"
#include "trainer/data/coco/coco_results.h"

enum coco_parts { COCO_PARTS_BOXES = 1, COCO_PARTS_MASKS = 2, COCO_PARTS_BOTH = 3 };

/* Replaces PATH atomically. A part that a result lacks is an error that names its number. */
int coco_results_write(const struct coco_results *results, enum coco_parts parts, const char *path,
                       struct error *err);

#endif
