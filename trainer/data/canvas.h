/* What is painted over a picture to show detections: masks, boxes and labels. All of it clips at
 * the picture's edge. */
#ifndef DATA_CANVAS_H
#define DATA_CANVAS_H

#include "data/image.h"
#include "eval/rle.h"

#include <stdbool.h>
#include <stdint.h>

struct color {
    uint8_t channel[IMAGE_CHANNELS];
};

/* Colour NUMBER of an endless list of bright ones; neighbours differ most. */
struct color color_of(uint32_t number);

/* Tints the mask's pixels and draws its outline; HATCHED in stripes, for crowds. A mask of another
 * size than the picture is refused. */
int canvas_mask(struct image *image, const struct rle *mask, struct color color, bool hatched,
                struct error *err);

/* The frame of a box, THICK pixels wide, with a thin dark edge that keeps it visible on ground of
 * its own colour. */
void canvas_box(struct image *image, const double box[4], struct color color, int thick);

/* How wide and high TEXT is at SIZE dots a dot, with its margin. */
int canvas_label_width(const char *text, int size);
int canvas_label_height(int size);

/* TEXT on a plate of COLOR whose left upper corner is at X, Y. */
void canvas_label(struct image *image, int x, int y, const char *text, struct color color,
                  int size);

#endif
