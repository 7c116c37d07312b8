/* Rasterization of polygons and boxes to masks.
 *
 * It agrees pixel for pixel with COCO's mask library. Source: P. Dollar and T.-Y. Lin's description
 * of its mask API, in which outlines are upsampled by five and the crossings of column centres are
 * sorted to runs. math/polygon.h has the arithmetic of an edge. */
#ifndef TRAINER_EVAL_RLE_POLYGON_H
#define TRAINER_EVAL_RLE_POLYGON_H

#include "common/error.h"
#include "trainer/eval/rle.h"

#include <stddef.h>
#include <stdint.h>

/* Scratch memory that a thread reuses from polygon to polygon. Initialize with zeros. */
struct rle_scratch {
    uint32_t *crossings; /* owned, all three */
    uint32_t *sorted;
    uint32_t *columns; /* end of each column's crossings */
    size_t crossing_count;
    size_t crossing_capacity;
    size_t sorted_capacity;
    size_t column_capacity;
    struct rle part; /* for unions */
    struct rle merged;
};

void rle_scratch_done(struct rle_scratch *scratch);

/* Checks that the coordinates of COUNT points are at most a million pixels in magnitude. The error
 * has the first that is not. */
int rle_check_points(const double *points, size_t count, struct error *err);

/* Draws the polygon through COUNT points x, y, x, y... on a picture of HEIGHT x WIDTH. Points may
 * lie outside; a coordinate beyond a million pixels, or NaN, is refused. */
int rle_from_polygon(struct rle *ret, struct rle_scratch *scratch, const double *points,
                     size_t count, uint32_t height, uint32_t width, struct error *err);

/* Draws the box x, y, width, height as the polygon of its corners. */
int rle_from_box(struct rle *ret, struct rle_scratch *scratch, const double box[4], uint32_t height,
                 uint32_t width, struct error *err);

/* Polygons of an object: their coordinates one after the other, SIZES[i] numbers for each. If the
 * first has four numbers, all are boxes, else all are polygons, as in the reference. */
struct rle_parts {
    const double *numbers;
    const uint32_t *sizes;
    size_t count;
    uint32_t height; /* of the picture */
    uint32_t width;
};
/* Draws the union. Fails for no parts, an odd or too small size, or boxes mixed with polygons. */
int rle_from_parts(struct rle *ret, struct rle_scratch *scratch, const struct rle_parts *parts,
                   struct error *err);

#define cleanup_rle_scratch __attribute__((cleanup(rle_scratch_done)))

#endif
