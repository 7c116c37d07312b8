/* Polygons and boxes to masks, pixel for pixel as COCO's mask library draws them (after P. Dollar
 * and T.-Y. Lin's description of its mask API: outlines upsampled by five, crossings of column
 * middles sorted to runs). The arithmetic of an edge is math/polygon.h's. */
#ifndef TRAINER_EVAL_RLE_POLYGON_H
#define TRAINER_EVAL_RLE_POLYGON_H

#include "common/error.h"
#include "trainer/eval/rle.h"

#include <stddef.h>
#include <stdint.h>

/* What a rasteriser keeps from one polygon to the next; used by one thread. Zeroed is ready. */
struct rle_brush {
    uint32_t *crossings; /* owned, all three */
    uint32_t *sorted;
    uint32_t *columns; /* where each column's crossings end */
    size_t crossing_count;
    size_t crossing_capacity;
    size_t sorted_capacity;
    size_t column_capacity;
    struct rle part; /* for unions */
    struct rle merged;
};

void rle_brush_done(struct rle_brush *brush);

/* Are the coordinates of COUNT points such as are drawn: at most a million pixels, either sign? The
 * error has the first that is not. */
int rle_check_points(const double *points, size_t count, struct error *err);

/* The polygon through COUNT points x, y, x, y... on a picture of HEIGHT x WIDTH. Points may lie
 * outside; a coordinate beyond a million pixels, or none at all, is refused. */
int rle_from_polygon(struct rle *ret, struct rle_brush *brush, const double *points, size_t count,
                     uint32_t height, uint32_t width, struct error *err);

/* The box x, y, width, height, drawn as the polygon of its corners. */
int rle_from_box(struct rle *ret, struct rle_brush *brush, const double box[4], uint32_t height,
                 uint32_t width, struct error *err);

/* An object's polygons, their numbers one behind the other, SIZES[i] of them each. Where the first
 * has four numbers, all are boxes, else all are polygons; that is how the reference reads them. */
struct rle_parts {
    const double *numbers;
    const uint32_t *sizes;
    size_t count;
    uint32_t height; /* of the picture */
    uint32_t width;
};
/* The union. No parts, an odd or too small size, or boxes mixed with polygons: an error. */
int rle_from_parts(struct rle *ret, struct rle_brush *brush, const struct rle_parts *parts,
                   struct error *err);

#define cleanup_rle_brush __attribute__((cleanup(rle_brush_done)))

#endif
