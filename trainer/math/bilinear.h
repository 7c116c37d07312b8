/* Where a pixel of a resized picture comes from: torch's interpolate with align_corners False and
 * no antialiasing, in f32, one rounding an operation. The scale of an axis is that of the sizes
 * themselves (recompute_scale_factor), not the factor that the sizes were made by. */
#ifndef TRAINER_MATH_BILINEAR_H
#define TRAINER_MATH_BILINEAR_H

#include "trainer/math/kernel.h"

#include <stdint.h>

/* Pixels of the source a pixel of the target, along one axis. */
KERNEL float bilinear_scale(int32_t source, int32_t target) {
    return (float)source / (float)target;
}

/* Two neighbours on an axis; the value between them is (1 - fraction) * low + fraction * high. */
struct bilinear_tap {
    int32_t low, high;
    float fraction;
};

/* Of pixel I of the target; SOURCE pixels lie on the axis. Pixel centres are at whole numbers and a
 * half; before the first centre and behind the last one its value holds. */
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

/* The one pixel that interpolation by the nearest takes: masks. */
KERNEL int32_t bilinear_nearest(int32_t i, float scale, int32_t source) {
    int32_t at = (int32_t)((float)i * scale);
    return at < source - 1 ? at : source - 1;
}

#endif
