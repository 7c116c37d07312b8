/* Sample detection set that needs no download, in COCO's layout:
 *
 *     FOLDER/train/NNNNNNN.jpg   FOLDER/annotations/instances_train.json
 *     FOLDER/val/NNNNNNN.jpg     FOLDER/annotations/instances_val.json
 *
 * Pictures are square, or landscape and portrait in turn. Each has one to four circles, squares
 * and triangles, drawn over one another; polygons cover the hidden parts, too. The set has the
 * oddities of real ones: category ids with gaps (3, 17, 90), a tenth of the masks as runs, crowds
 * (little circles in one region of runs) in one picture of twenty, empty pictures, and two records
 * in train with twice the true area. The same options and JPEG library give the same bytes. */
#ifndef TRAINER_DATA_SHAPES_COCO_SHAPES_H
#define TRAINER_DATA_SHAPES_COCO_SHAPES_H

#include "common/error.h"
#include "trainer/data/shapes/prepare.h"

#include <stdint.h>

/* Sets the defaults of prepare_options; `classes` is not used. */
void coco_shapes_defaults(struct prepare_options *options);
int coco_shapes_write(const struct prepare_options *options, struct error *err);

#endif
