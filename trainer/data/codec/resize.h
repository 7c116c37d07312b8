/* Resampling with a triangle filter that widens when shrinking ("bilinear with antialias", as
 * Pillow and torchvision do it): integer arithmetic, the same bits on every processor. Weights have
 * 14 bits and add up to one exactly; between the passes a value keeps 7 bits behind the point.
 *
 * A box of the input (fractions of pixels allowed) is scaled to a virtual picture, of which only a
 * window is computed. The filter sees nothing outside of the box. */
#ifndef TRAINER_DATA_CODEC_RESIZE_H
#define TRAINER_DATA_CODEC_RESIZE_H

#include "common/error.h"
#include "trainer/data/codec/image.h"
#include "trainer/data/codec/resize_rows.h"

#include <stdbool.h>
#include <stdint.h>

struct resize_map {
    double left; /* the box, in pixels of the input */
    double top;
    double width;
    double height;
    int virtual_width; /* what the box is scaled to */
    int virtual_height;
    struct rect window; /* of the virtual picture; what lies outside of it becomes black */
    bool flip;          /* mirror the window left and right */
};

/* Scratch for one thread. Zeroed is ready. */
struct resizer {
    struct resize_axis across;
    struct resize_axis down;
    int16_t *row; /* one row between the passes */
    size_t row_capacity;
};

void resizer_done(struct resizer *resizer);

/* Writes window.width x window.height x 3 bytes to OUT. */
int resize_window(struct resizer *resizer, const struct image *in, const struct resize_map *map,
                  uint8_t *out, struct error *err);

#define cleanup_resizer __attribute__((cleanup(resizer_done)))

#endif
