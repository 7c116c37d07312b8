/* Run-length encoded masks (RLE): the pixels of a picture column by column, top to bottom, as the
 * lengths of alternating runs of 0 and 1. The first run counts zeros and may be empty. The runs add
 * up to height times width; code that fills a mask from outside must check that first, as
 * rle_text.h does.
 *
 * The operations give the results of COCO's mask library, also for masks with empty runs in the
 * middle, which that library reads but never writes.
 *
 * A struct rle owns its runs and can be reused: outputs replace its contents and grow its memory.
 * A zeroed one is a mask of no pixels. Not thread safe; the only error is lack of memory. */
#ifndef TRAINER_EVAL_RLE_H
#define TRAINER_EVAL_RLE_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RLE_PIXELS_MAX = INT32_MAX }; /* of one mask; runs and sums stay within 32 bits */

struct rle {
    uint32_t height;
    uint32_t width;
    uint32_t *runs; /* owned */
    size_t count;
    size_t capacity;
};

void rle_done(struct rle *mask);

/* Returns true if a picture of this size can have a mask: sides above 0, pixels within the
 * limit. */
bool rle_size_fits(int64_t height, int64_t width);

/* Reserves memory for COUNT runs; the contents stay. */
int rle_reserve(struct rle *mask, size_t count, struct error *err);

/* Pixels as bytes; any value but 0 counts as 1. Pixel (y, x) is at y * row_step + x *
 * column_step. */
struct rle_pixels {
    uint8_t *bytes;
    uint32_t height;
    uint32_t width;
    size_t row_step;
    size_t column_step;
};
int rle_encode(struct rle *ret, const struct rle_pixels *pixels, struct error *err);
/* Writes 0 and 1; sizes must match. */
void rle_decode(const struct rle *mask, const struct rle_pixels *ret_pixels);

enum rle_merge_kind { RLE_UNION, RLE_INTERSECTION };
/* RET must be neither A nor B. Masks of different sizes give a mask of no pixels. */
int rle_merge(struct rle *ret, const struct rle *a, const struct rle *b, enum rle_merge_kind kind,
              struct error *err);

uint32_t rle_area(const struct rle *mask);

/* Returns the bounding box of the ones: x, y, width, height; zeros if there are none. */
void rle_box(const struct rle *mask, double ret_box[4]);

/* Returns the intersection over union, or over FOUND's area if TRUTH is a crowd; -1 for different
 * sizes. */
double rle_iou(const struct rle *found, const struct rle *truth, bool crowd);

/* The same for boxes x, y, width, height. Disjoint boxes give 0. */
double box_iou(const double found[4], const double truth[4], bool crowd);

#define cleanup_rle __attribute__((cleanup(rle_done)))

#endif
