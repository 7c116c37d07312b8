/* Pyramid level from which a region is pooled.
 *
 * Source: Lin et al., "Feature Pyramid Networks", 2017, equation 1: a region of the size of
 * ImageNet's pictures uses the fourth level, half that size the third. In f32 with the order of
 * operations of torchvision (ops/poolers.py), so that a region on the border uses the same
 * level. */
#ifndef TRAINER_MATH_ROI_LEVEL_H
#define TRAINER_MATH_ROI_LEVEL_H

#include "trainer/math/box.h"
#include "trainer/math/exact_math.h"
#include "trainer/math/kernel.h"

#include <math.h>
#include <stdbool.h>

enum { ROI_LEVEL_FIRST = 2 /* the first map has a stride of 2^2 pixels */ };

/* Returns 0 .. LEVELS - 1, counted from the first map. EPSILON is added to the logarithm, or with
 * INSIDE to its argument. PLUS as in box.h. A region without area, or with NaN, gets the first
 * level. */
KERNEL int roi_level(const float box[4], int levels, float epsilon, bool inside, float plus) {
    float side = sqrtf(box_area(box, plus));
    float part = side / 224.0f;
    float at = inside ? 4.0f + exact_log2(part + epsilon) : 4.0f + exact_log2(part) + epsilon;
    int level = 0;
    while (level < levels - 1 && at >= (float)(ROI_LEVEL_FIRST + level + 1))
        level++;
    return level;
}

#endif
