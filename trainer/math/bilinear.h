/* Source positions of the pixels of a resized picture: torch's interpolate with align_corners
 * False and without antialiasing, in f32, one rounding per operation. The scale of an axis is the
 * ratio of the sizes (recompute_scale_factor), not the factor from which they were computed. */
#ifndef TRAINER_MATH_BILINEAR_H
#define TRAINER_MATH_BILINEAR_H

#include "trainer/math/kernel.h"

#include <stdint.h>

/* Returns source pixels per target pixel, along one axis. */
KERNEL float bilinear_scale(int32_t source, int32_t target) {
    return (float)source / (float)target;
}

/* Two neighbours on an axis; the value between them is (1 - fraction) * low + fraction * high. */
struct bilinear_tap {
    int32_t low, high;
    float fraction;
};

/* Returns the source of target pixel I; the axis has SOURCE pixels. Pixel centres are at
 * half-integers; the border values extend beyond the first and last centre. */
KERNEL struct bilinear_tap bilinear_source(int32_t i, float scale, int32_t source) {
    struct bilinear_tap tap;
    float position = ((float)i + 0.5f) * scale - 0.5f;
    position = position > 0.0f ? position : 0.0f;
    tap.low = (int32_t)position;
    if (tap.low > source - 1)
        tap.low = source - 1;
    tap.high = tap.low < source - 1 ? tap.low + 1 : tap.low;
    tap.fraction = position - (float)tap.low;
    return tap;
}

/* Returns the pixel of nearest-neighbour interpolation, for masks. */
KERNEL int32_t bilinear_nearest(int32_t i, float scale, int32_t source) {
    int32_t at = (int32_t)((float)i * scale);
    return at < source - 1 ? at : source - 1;
}

#endif
