/* Results as the JSON that pycocotools' loadRes takes. Numbers have 17 digits, so that they come
 * back to the bit.
 *
 * loadRes takes a result's area from its box where it has one, also when masks are scored, as
 * COCO's own evaluation of masks does not mean it: for that write COCO_PARTS_MASKS. */
#ifndef TRAINER_DATA_COCO_COCO_RESULTS_WRITE_H
#define TRAINER_DATA_COCO_COCO_RESULTS_WRITE_H

#include "common/error.h"
#include "trainer/data/coco/coco_results.h"

enum coco_parts { COCO_PARTS_BOXES = 1, COCO_PARTS_MASKS = 2, COCO_PARTS_BOTH = 3 };

/* Replaces PATH, all at once. A part that a result does not have is an error that names its number.
 */
int coco_results_write(const struct coco_results *results, enum coco_parts parts, const char *path,
                       struct error *err);

#endif
