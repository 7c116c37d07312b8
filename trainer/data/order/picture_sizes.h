/* Sides of training pictures by epoch.
 *
 * Small ones come first, which take less time, then those of --image-size ("progressive resizing",
 * Howard 2018, fast.ai's DAWNBench entry).
 *
 * Written as "128:6,160:12": 128 pixels in the first six epochs, 160 up to the twelfth, and the
 * full size from then on. A size is a canvas of the network (step/network.h); canvas 0 is the full
 * one. */
#ifndef TRAINER_DATA_ORDER_PICTURE_SIZES_H
#define TRAINER_DATA_ORDER_PICTURE_SIZES_H

#include "common/buf.h"
#include "common/error.h"

#include <stdint.h>

enum { PICTURE_SIZES_MAX = 7 };

struct picture_sizes {
    int count;
    int side[PICTURE_SIZES_MAX];       /* pixels */
    uint32_t until[PICTURE_SIZES_MAX]; /* epochs done when it ends; increasing */
};

/* TEXT as above, or "none". FULL is the full side. Fails with EXIT_CODE_USAGE. */
int picture_sizes_parse(struct picture_sizes *ret, const char *text, int full, struct error *err);
/* Returns the canvas of EPOCH, counted from 0: 0, or 1 and the number of a size. */
int picture_sizes_canvas(const struct picture_sizes *sizes, uint32_t epoch);
/* Appends "128 px up to epoch 6, 160 px up to epoch 12, then 192 px". */
int picture_sizes_text(struct buf *out, const struct picture_sizes *sizes, int full,
                       struct error *err);

#endif
