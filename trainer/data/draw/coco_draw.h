/* Drawing of a picture's objects over it: masks first, then boxes, then labels, large objects
 * before small ones, so that everything stays visible, each in its own colour (coco_colors.h).
 * Labels are placed on their box's upper edge, or elsewhere if another label is there. */
#ifndef TRAINER_DATA_DRAW_COCO_DRAW_H
#define TRAINER_DATA_DRAW_COCO_DRAW_H

#include "common/error.h"
#include "trainer/data/codec/image.h"
#include "trainer/data/draw/coco_drawing.h"
#include "trainer/data/draw/labels/fonts.h"

#include <stddef.h>

/* Reorders LIST and sets its colours. FONTS are for labels, and may be NULL. */
int coco_draw(struct image *image, struct coco_drawing *list, size_t count, struct fonts *fonts,
              struct error *err);

#endif
