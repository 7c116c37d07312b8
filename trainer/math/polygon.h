/* Intersections of a polygon's outline with the columns of a pixel grid: the arithmetic of COCO's
 * polygon masks, bit for bit, without walking along the outline.
 *
 * The reference draws every edge with five points a pixel along its longer axis and looks at each
 * pair of neighbouring points with different x; such a pair counts if it straddles the middle of a
 * column, which is between the fine positions 5c + 2 and 5c + 3. Here those two points are
 * computed directly. An edge crosses a column at most once, and within an edge x changes by at
 * most one a step, so the direction of travel does not matter; between edges x changes only left
 * of the picture, where nothing counts. That holds for coordinates up to POLYGON_LIMIT: beyond it
 * the rounding of slope times step would matter.
 *
 * A product and the following sum must be rounded separately: compile the users of this header
 * with -ffp-contract=off (-fmad=false on the GPU), or masks change by pixels. */
#ifndef TRAINER_MATH_POLYGON_H
#define TRAINER_MATH_POLYGON_H

#include "trainer/math/kernel.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum { POLYGON_SCALE = 5, POLYGON_LIMIT = 1000000 /* pixels, either sign */ };

struct polygon_edge {
    int x, y;     /* the end that is lower on the longer axis, in fifths of a pixel */
    int steps;    /* along the longer axis */
    bool along_x; /* the longer axis */
    double slope; /* of the other axis, per step */
    int first;    /* columns crossed, clipped to the grid; none when first > last */
    int last;
};

/* A coordinate in fifths of a pixel; truncation makes negative ones round the other way. */
KERNEL int polygon_fine(double coordinate) {
    return (int)(POLYGON_SCALE * coordinate + 0.5);
}

/* Returns the edge between two points in fifths of a pixel, over a grid of WIDTH columns. */
KERNEL struct polygon_edge polygon_edge_between(int ax, int ay, int bx, int by, int width) {
    struct polygon_edge edge;
    int dx = ax < bx ? bx - ax : ax - bx;
    int dy = ay < by ? by - ay : ay - by;
    int left = ax < bx ? ax : bx;
    int right = ax < bx ? bx : ax;
    edge.along_x = dx >= dy;
    edge.steps = edge.along_x ? dx : dy;
    bool swap = edge.along_x ? ax > bx : ay > by;
    edge.x = swap ? bx : ax;
    edge.y = swap ? by : ay;
    int rise = edge.along_x ? (swap ? ay - by : by - ay) : (swap ? ax - bx : bx - ax);
    edge.slope = edge.steps > 0 ? (double)rise / edge.steps : 0.0;
    edge.first = left <= 2 ? 0 : (left + 2) / POLYGON_SCALE;
    edge.last = right < 3 ? -1 : (right - 3) / POLYGON_SCALE;
    if (edge.last > width - 1)
        edge.last = width - 1;
    return edge;
}

/* Returns the position on the other axis at STEP. */
KERNEL int polygon_edge_at(const struct polygon_edge *edge, int step) {
    int start = edge->along_x ? edge->y : edge->x;
    return (int)(start + edge->slope * step + 0.5);
}

/* For an edge that is longer in y: returns the first step at which x has passed the middle of the
 * column with fine positions LOW and LOW + 1, in the edge's own direction. */
KERNEL int polygon_edge_passing(const struct polygon_edge *edge, int low) {
    bool rising = edge->slope > 0;
    int step = (int)((low + 0.5 - edge->x) / edge->slope);
    step = step < 1 ? 1 : step > edge->steps ? edge->steps : step;
    while (step > 1 && (rising ? polygon_edge_at(edge, step - 1) > low
                               : polygon_edge_at(edge, step - 1) <= low))
        step--;
    while (step < edge->steps &&
           (rising ? polygon_edge_at(edge, step) <= low : polygon_edge_at(edge, step) > low))
        step++;
    return step;
}

/* Returns the row, 0..HEIGHT, from which on the pixels of COLUMN (first..last) lie on the other
 * side. */
KERNEL int polygon_edge_row(const struct polygon_edge *edge, int column, int height) {
    int low = POLYGON_SCALE * column + 2;
    int fine;
    if (edge->along_x) {
        int a = polygon_edge_at(edge, low - edge->x);
        int b = polygon_edge_at(edge, low - edge->x + 1);
        fine = a < b ? a : b;
    } else {
        fine = edge->y + polygon_edge_passing(edge, low) - 1;
    }
    double row = (fine + 0.5) / POLYGON_SCALE - 0.5;
    return row < 0 ? 0 : row > height ? height : (int)ceil(row);
}

#endif
