/* A small detection set that needs no download, in COCO's layout:
 *
 *     FOLDER/train/NNNNNNN.jpg   FOLDER/annotations/instances_train.json
 *     FOLDER/val/NNNNNNN.jpg     FOLDER/annotations/instances_val.json
 *
 * Square pictures, or such that lie and stand in turns; in them
 * circles, squares and triangles, one to four in a picture, drawn over one another; their polygons
 * are whole. It has what real sets have: category ids with gaps (3, 17, 90), a tenth of the masks
 * as runs, crowds (little circles in one region of runs) in one picture of twenty, pictures without
 * anything, and two records in train whose area is twice the true one. The same bytes for the same
 * options and JPEG library. */
#ifndef TRAINER_DATA_SHAPES_COCO_SHAPES_H
#define TRAINER_DATA_SHAPES_COCO_SHAPES_H

#include "common/error.h"
#include "trainer/data/shapes/prepare.h"

#include <stdint.h>

/* Of prepare_options, `classes` is not looked at. */
void coco_shapes_defaults(struct prepare_options *options);
int coco_shapes_write(const struct prepare_options *options, struct error *err);

#endif
