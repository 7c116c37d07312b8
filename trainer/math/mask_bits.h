/* Bitmap of an object's mask, as operators get it.
 *
 * It is the mask's crop, the bounding box of all set pixels in the ORIGINAL picture (neither
 * resized nor mirrored), at one bit a pixel.
 *
 * All crops of a batch are in one pool of bytes, in any order. The location of a crop is an entry
 * of MASK_FIELDS numbers per object, the batch's gt_mask_at i32 [N,G,MASK_FIELDS].
 *
 * Rows go from top to bottom, each begins at a byte, and pixel x of a row is bit x % 8 of byte x /
 * 8, the lowest first. Bits after the end of a row are not read. An object without a mask, and a
 * slot without an object, has width or height 0; its other numbers are not read. */
#ifndef TRAINER_MATH_MASK_BITS_H
#define TRAINER_MATH_MASK_BITS_H

#include "trainer/math/kernel.h"

#include <stdbool.h>
#include <stdint.h>

enum mask_field {
    MASK_OFFSET, /* byte offset of the first row in the pool */
    MASK_X,      /* position of the crop's first pixel in the picture */
    MASK_Y,
    MASK_WIDTH, /* size of the crop, in pixels */
    MASK_HEIGHT,
    MASK_FIELDS
};

/* Returns the bytes of a row of WIDTH pixels. */
KERNEL int32_t mask_bits_stride(int32_t width) {
    return width / 8 + (width % 8 != 0);
}

/* Returns the bytes of a crop in the pool. */
KERNEL int64_t mask_bits_bytes(int32_t width, int32_t height) {
    return (int64_t)mask_bits_stride(width) * height;
}

/* Returns true if there is a mask. */
KERNEL bool mask_bits_given(const int32_t at[MASK_FIELDS]) {
    return at[MASK_WIDTH] > 0 && at[MASK_HEIGHT] > 0;
}

/* Returns pixel (X, Y) of the picture: 1 or 0; 0 outside the crop. */
KERNEL int mask_bits_get(const uint8_t *pool, const int32_t at[MASK_FIELDS], int32_t x, int32_t y) {
    int32_t column = x - at[MASK_X], row = y - at[MASK_Y];
    if (column < 0 || column >= at[MASK_WIDTH] || row < 0 || row >= at[MASK_HEIGHT])
        return 0;
    const uint8_t *bytes = pool + at[MASK_OFFSET] + (int64_t)row * mask_bits_stride(at[MASK_WIDTH]);
    return bytes[column / 8] >> (column % 8) & 1;
}

/* Sets pixel (X, Y) of the picture, which must lie in the crop; crops start as zeros. */
KERNEL void mask_bits_set(uint8_t *pool, const int32_t at[MASK_FIELDS], int32_t x, int32_t y) {
    int32_t column = x - at[MASK_X], row = y - at[MASK_Y];
    uint8_t *bytes = pool + at[MASK_OFFSET] + (int64_t)row * mask_bits_stride(at[MASK_WIDTH]);
    bytes[column / 8] = (uint8_t)(bytes[column / 8] | 1 << (column % 8));
}

#endif
