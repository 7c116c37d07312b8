/* Sampling positions of RoIAlign along one axis.
 *
 * Source: He et al., "Mask R-CNN", 2017, section 3. A region is cut into equal bins, and a bin has
 * a grid of samples. A sample is the bilinear value between four pixels, and a bin's value is the
 * mean of its samples.
 *
 * That is separable: the weight of pixel (y, x) in bin (p, q) is the weight of y in p times that of
 * x in q. So a region's weights are computed once per axis, in f32 with the order of operations of
 * torchvision's operator (ops/cpu/roi_align_common.h), and shared by all channels. */
#ifndef TRAINER_MATH_ROI_AXIS_H
#define TRAINER_MATH_ROI_AXIS_H

#include "trainer/math/bilinear.h"
#include "trainer/math/kernel.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum { ROI_GRID_MAX = 1 << 16 };

struct roi_axis {
    float start, bin; /* in pixels of the feature map */
    int32_t grid;     /* samples of a bin; 0: none, and the bin's value is 0 */
    int32_t size;     /* pixels on the axis */
};

/* Parameters that do not depend on the region. */
struct roi_rule {
    int32_t bins;
    int32_t sampling; /* samples of a bin; 0: as many as its pixels, rounded up */
    bool aligned;     /* pixel centres at integers, no least size; else at 0.5, at least a pixel */
};

/* Returns the axis of a region from LOW to HIGH in pixels of the picture, on a map with SCALE
 * pixels per pixel. */
KERNEL struct roi_axis roi_axis_between(float low, float high, float scale, int32_t size,
                                        const struct roi_rule *rule) {
    struct roi_axis axis;
    float offset = rule->aligned ? 0.5f : 0.0f;
    axis.start = low * scale - offset;
    float extent = high * scale - offset - axis.start;
    if (!rule->aligned)
        extent = extent > 1.0f ? extent : 1.0f;
    axis.bin = extent / (float)rule->bins;
    axis.size = size;
    float grid = ceilf(extent / (float)rule->bins);
    axis.grid = rule->sampling > 0           ? rule->sampling
                : !(grid > 0)                ? 0
                : grid < (float)ROI_GRID_MAX ? (int32_t)grid
                                             : ROI_GRID_MAX;
    return axis;
}

/* Computes sample I of a bin; false if it is more than a pixel outside, or NaN: then it is 0. */
KERNEL bool roi_axis_sample(const struct roi_axis *axis, int32_t bin, int32_t i,
                            struct bilinear_tap *ret) {
    float at =
        axis->start + (float)bin * axis->bin + ((float)i + 0.5f) * axis->bin / (float)axis->grid;
    if (!(at >= -1.0f && at <= (float)axis->size))
        return false;
    at = at > 0.0f ? at : 0.0f;
    ret->low = (int32_t)at;
    if (ret->low >= axis->size - 1) {
        ret->low = ret->high = axis->size - 1;
        ret->fraction = 0.0f;
    } else {
        ret->high = ret->low + 1;
        ret->fraction = at - (float)ret->low;
    }
    return true;
}

/* Returns the weight of pixel PIXEL in bin BIN: the sum over its samples, divided by their
 * number. */
KERNEL float roi_axis_weight(const struct roi_axis *axis, int32_t bin, int32_t pixel) {
    float sum = 0.0f;
    for (int32_t i = 0; i < axis->grid; i++) {
        struct bilinear_tap tap;
        if (!roi_axis_sample(axis, bin, i, &tap))
            continue;
        sum += tap.low == pixel ? 1.0f - tap.fraction : 0.0f;
        sum += tap.high == pixel ? tap.fraction : 0.0f;
    }
    return axis->grid > 0 ? sum / (float)axis->grid : 0.0f;
}

/* Returns true if some bin may have a weight at a pixel in [begin, end): a sample uses two pixels,
 * and one outside the map uses the border. False only if none has. */
KERNEL bool roi_axis_reaches(const struct roi_axis *axis, int32_t bins, int32_t begin,
                             int32_t end) {
    float one = axis->start, other = axis->start + axis->bin * (float)bins;
    float first = one < other ? one : other, last = one < other ? other : one;
    return !(last + 2.0f < (float)begin) && !(first - 1.0f > (float)end);
}

/* Pixels *RET_LOW .. *RET_HIGH contain all nonzero weights of bin BIN; none if low > high. */
KERNEL void roi_axis_span(const struct roi_axis *axis, int32_t bin, int32_t *ret_low,
                          int32_t *ret_high) {
    struct bilinear_tap tap;
    *ret_low = axis->size;
    *ret_high = -1;
    for (int32_t i = 0; i < axis->grid; i++)
        if (roi_axis_sample(axis, bin, i, &tap)) {
            *ret_low = tap.low < *ret_low ? tap.low : *ret_low;
            *ret_high = tap.high > *ret_high ? tap.high : *ret_high;
        }
}

#endif
