/* Target of the mask head for a region: the object's mask, averaged over the region's bins, or its
 * outline rasterized on their grid. In f32, and bit for bit the same everywhere: compile the users
 * of this header with -ffp-contract=off (-fmad=false on the GPU). */
#ifndef TRAINER_MATH_MASK_TARGET_H
#define TRAINER_MATH_MASK_TARGET_H

#include "trainer/math/image_size.h"
#include "trainer/math/kernel.h"
#include "trainer/math/mask_bits.h"
#include "trainer/math/polygon.h"
#include "trainer/math/roi_axis.h"

#include <stdbool.h>
#include <stdint.h>

/* An object's bitmap as seen in the resized picture. */
struct mask_view {
    const uint8_t *pool;
    const int32_t *at, *size; /* MASK_FIELDS, IMAGE_SIZE_FIELDS */
    float scale_y, scale_x;   /* source pixels per pixel */
};

KERNEL struct mask_view mask_view_of(const uint8_t *pool, const int32_t *at, const int32_t *size) {
    struct mask_view view;
    view.pool = pool;
    view.at = at;
    view.size = size;
    view.scale_y = bilinear_scale(size[IMAGE_SIZE_SOURCE_H], size[IMAGE_SIZE_H]);
    view.scale_x = bilinear_scale(size[IMAGE_SIZE_SOURCE_W], size[IMAGE_SIZE_W]);
    return view;
}

/* Return the row and the column of the source for a pixel of the resized picture. */
KERNEL int32_t mask_view_row(const struct mask_view *view, int32_t y) {
    return bilinear_nearest(y, view->scale_y, view->size[IMAGE_SIZE_SOURCE_H]);
}

KERNEL int32_t mask_view_column(const struct mask_view *view, int32_t x) {
    int32_t width = view->size[IMAGE_SIZE_SOURCE_W];
    int32_t column = bilinear_nearest(x, view->scale_x, width);
    return view->size[IMAGE_SIZE_FLIP] != 0 ? width - 1 - column : column;
}

KERNEL int mask_view_pixel(const struct mask_view *view, int32_t y, int32_t x) {
    return mask_bits_get(view->pool, view->at, mask_view_column(view, x), mask_view_row(view, y));
}

/* Returns the mean of bin (P, Q). */
KERNEL float mask_view_bin(const struct mask_view *view, const struct roi_axis *y,
                           const struct roi_axis *x, int p, int q) {
    float sum = 0.0f, count = (float)y->grid * (float)x->grid;
    for (int i = 0; i < y->grid; i++) {
        struct bilinear_tap v, u;
        if (!roi_axis_sample(y, p, i, &v))
            continue;
        for (int k = 0; k < x->grid; k++) {
            if (!roi_axis_sample(x, q, k, &u))
                continue;
            float above = (1.0f - u.fraction) * (float)mask_view_pixel(view, v.low, u.low) +
                          u.fraction * (float)mask_view_pixel(view, v.low, u.high);
            float below = (1.0f - u.fraction) * (float)mask_view_pixel(view, v.high, u.low) +
                          u.fraction * (float)mask_view_pixel(view, v.high, u.high);
            sum += (1.0f - v.fraction) * above + v.fraction * below;
        }
    }
    return count > 0.0f ? sum / count : 0.0f;
}

/* An object's outline: the union of polygons, in pixels of the resized picture. */
enum mask_part_field { MASK_PART_FIRST, MASK_PART_COUNT, MASK_PART_FIELDS };
struct mask_outline {
    const float *points;     /* x, y of all polygons of the batch */
    const int32_t *part;     /* of each polygon its first point, and how many */
    int32_t first, count;    /* the object's polygons: the first and their number */
    double left, top;        /* corner of the region */
    double scale_x, scale_y; /* grid cells per pixel */
    int32_t bins;            /* cells along each axis */
};

/* Sets the region; its sides count as at least LEAST pixels (Detectron2's structures/masks.py 0.1,
 * maskrcnn-benchmark's 1). */
KERNEL void mask_outline_place(struct mask_outline *outline, const float box[4], float least) {
    float width = box[2] - box[0], height = box[3] - box[1];
    outline->left = (double)box[0];
    outline->top = (double)box[1];
    outline->scale_x = outline->bins / (double)(width > least ? width : least);
    outline->scale_y = outline->bins / (double)(height > least ? height : least);
}

/* Converts a coordinate to fifths of a cell; clamps points far outside, and NaN. */
KERNEL int mask_outline_fine(double coordinate) {
    const double most = POLYGON_LIMIT;
    double bounded = coordinate < most ? coordinate : most;
    return polygon_fine(bounded > -most ? bounded : -most);
}

/* Returns true if cell (P, Q) is inside an odd number of the polygon's windings. */
KERNEL bool mask_outline_inside(const struct mask_outline *o, int32_t part, int p, int q) {
    const int32_t *range = o->part + (int64_t)part * MASK_PART_FIELDS;
    const float *points = o->points + 2 * (int64_t)range[MASK_PART_FIRST];
    int count = range[MASK_PART_COUNT];
    bool inside = false;
    for (int i = 0; i < count; i++) {
        const float *from = points + 2 * (i > 0 ? i - 1 : count - 1), *to = points + 2 * i;
        struct polygon_edge edge =
            polygon_edge_between(mask_outline_fine(((double)from[0] - o->left) * o->scale_x),
                                 mask_outline_fine(((double)from[1] - o->top) * o->scale_y),
                                 mask_outline_fine(((double)to[0] - o->left) * o->scale_x),
                                 mask_outline_fine(((double)to[1] - o->top) * o->scale_y), o->bins);
        if (q >= edge.first && q <= edge.last && polygon_edge_row(&edge, q, o->bins) <= p)
            inside = !inside;
    }
    return inside;
}

/* Returns true if one of the polygons covers cell (P, Q). */
KERNEL bool mask_outline_covers(const struct mask_outline *o, int p, int q) {
    for (int32_t part = o->first; part < o->first + o->count; part++)
        if (mask_outline_inside(o, part, p, q))
            return true;
    return false;
}

#endif
