/* Drawing of masks, boxes and elements of labels over a picture.
 *
 * label.h has the labels. Everything is clipped to the picture. */
#ifndef TRAINER_DATA_DRAW_CANVAS_CANVAS_H
#define TRAINER_DATA_DRAW_CANVAS_CANVAS_H

#include "trainer/data/codec/image.h"
#include "trainer/eval/rle.h"

#include <stdbool.h>
#include <stdint.h>

struct color {
    uint8_t channel[IMAGE_CHANNELS];
};

/* Returns colour NUMBER of an endless list of bright ones; neighbours differ most. */
struct color color_of(uint32_t number);

/* Blends COLOR with opacity SHARE of 255 over a pixel, or over all of RECT. */
void canvas_blend(struct image *image, int x, int y, struct color color, int share);
void canvas_fill(struct image *image, const struct rect *rect, struct color color, int share);

/* Tints the mask's pixels and draws its outline; HATCHED for crowds. The mask must have the
 * picture's size. */
int canvas_mask(struct image *image, const struct rle *mask, struct color color, bool hatched,
                struct error *err);

/* Draws the frame of a box, THICK pixels wide, with a thin dark edge that keeps it visible on a
 * background of the same colour. */
void canvas_box(struct image *image, const double box[4], struct color color, int thick);

#endif
