/* Colours for the objects of one picture: each different, and those that are adjacent or overlap
 * as different as the palette allows, regardless of category. */
#ifndef TRAINER_DATA_DRAW_COCO_COLORS_H
#define TRAINER_DATA_DRAW_COCO_COLORS_H

#include "trainer/data/draw/coco_drawing.h"

#include <stddef.h>

/* Sets the colours of LIST, which depend only on its boxes and their order. */
void coco_colors_choose(struct coco_drawing *list, size_t count);

#endif
