/* Resampling of pictures with a triangle filter.
 *
 * The filter widens when shrinking ("bilinear with antialias", as in Pillow and torchvision). It is
 * integer arithmetic, with the same bits on every processor. Weights have 14 bits and add up to
 * exactly one; between the passes a value keeps 7 fractional bits.
 *
 * A box of the input (fractions of pixels allowed) is scaled to a virtual picture, of which only a
 * window is computed. The filter sees no pixels outside the box. */
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
    int virtual_width; /* the size that the box is scaled to */
    int virtual_height;
    struct rect window; /* of the virtual picture; black outside of it */
    bool flip;          /* mirror the window horizontally */
};

/* Scratch memory of one thread. Initialize with zeros. */
struct resizer {
    struct resize_axis columns;
    struct resize_axis rows;
    struct resize_across across;
    int16_t *row; /* one row between the passes */
    size_t row_capacity;
};

void resizer_done(struct resizer *resizer);

/* Writes window.width x window.height x 3 bytes to OUT. */
int resize_window(struct resizer *resizer, const struct image *in, const struct resize_map *map,
                  uint8_t *out, struct error *err);

/* Scales all of IN to WIDTH x HEIGHT in OUT, another picture. */
int resize_whole(struct resizer *resizer, const struct image *in, int width, int height,
                 struct image *out, struct error *err);

/* Scales IN so that its short side becomes SIDE. */
int resize_short_side(struct resizer *resizer, const struct image *in, int side, struct image *out,
                      struct error *err);

#define cleanup_resizer __attribute__((cleanup(resizer_done)))

#endif
