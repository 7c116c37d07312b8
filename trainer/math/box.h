/* Boxes (x1, y1, x2, y2) in pixels, f32: overlap, and the encoding of a box relative to another
 * one (Girshick et al. 2014, appendix C). The order of operations is torchvision's (ops/boxes.py,
 * models/detection/_utils.py, csrc/ops/cpu/nms_kernel.cpp), with one rounding each, so that a box
 * at a threshold falls on the same side.
 *
 * PLUS is 0, or 1 if x2 and y2 are the last pixels inside, as in Detectron of 2018: then a box is
 * x2 - x1 + 1 wide. Compile with -ffp-contract=off (-fmad=false on the GPU). */
#ifndef TRAINER_MATH_BOX_H
#define TRAINER_MATH_BOX_H

#include "trainer/math/exact_math.h"
#include "trainer/math/kernel.h"

/* Maximum growth of a box's side: log(1000 / 16). */
#define BOX_GROWTH_MAX 4.135166556742356f

KERNEL float box_area(const float box[4], float plus) {
    return (box[2] - box[0] + plus) * (box[3] - box[1] + plus);
}

/* Returns the intersection over union, given areas from box_area(). NaN if both are empty or one
 * is NaN. */
KERNEL float box_iou_of_areas(const float a[4], float area_a, const float b[4], float area_b,
                              float plus) {
    float x1 = a[0] > b[0] ? a[0] : b[0], y1 = a[1] > b[1] ? a[1] : b[1];
    float x2 = a[2] < b[2] ? a[2] : b[2], y2 = a[3] < b[3] ? a[3] : b[3];
    float width = x2 - x1 + plus, height = y2 - y1 + plus;
    float inter = (width > 0 ? width : 0) * (height > 0 ? height : 0);
    return inter / (area_a + area_b - inter);
}

KERNEL float box_iou(const float a[4], const float b[4], float plus) {
    return box_iou_of_areas(a, box_area(a, plus), b, box_area(b, plus), plus);
}

/* Encodes TO relative to FROM: centres in widths and heights, sides as logarithms; times WEIGHT. */
KERNEL void box_encode(const float from[4], const float to[4], const float weight[4], float plus,
                       float ret[4]) {
    for (int axis = 0; axis < 2; axis++) {
        float side = from[axis + 2] - from[axis] + plus;
        float centre = from[axis] + 0.5f * side;
        float to_side = to[axis + 2] - to[axis] + plus;
        float to_centre = to[axis] + 0.5f * to_side;
        ret[axis] = weight[axis] * (to_centre - centre) / side;
        ret[axis + 2] = weight[axis + 2] * exact_log(to_side / side);
    }
}

/* Decodes DELTA relative to FROM: the inverse, except that growth is limited. */
KERNEL void box_decode(const float from[4], const float delta[4], const float weight[4], float plus,
                       float ret[4]) {
    for (int axis = 0; axis < 2; axis++) {
        float side = from[axis + 2] - from[axis] + plus;
        float centre = from[axis] + 0.5f * side;
        float move = delta[axis] / weight[axis], growth = delta[axis + 2] / weight[axis + 2];
        growth = growth > BOX_GROWTH_MAX ? BOX_GROWTH_MAX : growth;
        float new_centre = move * side + centre;
        float half = 0.5f * (exact_exp(growth) * side);
        ret[axis] = new_centre - half;
        ret[axis + 2] = new_centre + half - plus;
    }
}

/* Clips to a picture of this size; NaN stays NaN. */
KERNEL void box_clip(float box[4], float height, float width, float plus) {
    for (int i = 0; i < 4; i++) {
        float most = (i % 2 == 0 ? width : height) - plus;
        float least = box[i] < 0 ? 0 : box[i];
        box[i] = least > most ? most : least;
    }
}

/* Returns true if both sides are at least LEAST (EXCLUSIVE: longer). False for NaN. */
KERNEL int box_is_large(const float box[4], float plus, float least, int exclusive) {
    float width = box[2] - box[0] + plus, height = box[3] - box[1] + plus;
    return exclusive ? width > least && height > least : width >= least && height >= least;
}

#endif
