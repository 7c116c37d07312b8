/* Colours for the objects of one picture: each its own, and those that lie beside or over each
 * other as far apart as the palette allows, whatever their categories are. */
#ifndef TRAINER_DATA_DRAW_COCO_COLORS_H
#define TRAINER_DATA_DRAW_COCO_COLORS_H

#include "trainer/data/draw/coco_drawing.h"

#include <stddef.h>

/* Sets the colours of LIST, which depend on its boxes and their order alone. */
void coco_colors_choose(struct coco_drawing *list, size_t count);

#endif
