/* Checks of the pictures for coco_check.h. */
#ifndef TRAINER_DATA_COCO_COCO_CHECK_PICTURES_H
#define TRAINER_DATA_COCO_COCO_CHECK_PICTURES_H

#include "common/error.h"
#include "trainer/data/coco/coco_findings.h"
#include "trainer/data/coco/coco_index.h"

/* Decodes all images' files in the folder PICTURES and counts those that are missing, damaged or
 * of another size. */
int coco_check_pictures(struct coco_finding findings[COCO_FINDINGS], const struct coco_index *index,
                        const char *pictures, struct error *err);

#endif
