/* Paints a picture's objects over it: masks first, then boxes, then labels, large objects before
 * small ones, so that everything can be seen, and each in a colour of its own (coco_colors.h).
 * Labels sit on their box's upper edge, and move where another label already is. */
#ifndef TRAINER_DATA_DRAW_COCO_DRAW_H
#define TRAINER_DATA_DRAW_COCO_DRAW_H

#include "common/error.h"
#include "trainer/data/codec/image.h"
#include "trainer/data/draw/coco_drawing.h"
#include "trainer/data/draw/fonts.h"

#include <stddef.h>

/* Reorders LIST and sets its colours. FONTS are for labels, and may be NULL. */
int coco_draw(struct image *image, struct coco_drawing *list, size_t count, struct fonts *fonts,
              struct error *err);

#endif
