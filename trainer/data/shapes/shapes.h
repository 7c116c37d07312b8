/* Shapes drawn with soft edges into pictures, for sample data. A form is a signed-distance-like
 * function over its own square [-1, 1] x [-1, 1] (negative inside), rotated, scaled and placed.
 * The same function gives the pixel's colour and an exact mask, so classification and detection
 * sets share it. */
#ifndef TRAINER_DATA_SHAPES_SHAPES_H
#define TRAINER_DATA_SHAPES_SHAPES_H

#include "trainer/data/codec/image.h"

#include <stddef.h>
#include <stdint.h>

enum shape_form {
    SHAPE_CIRCLE,
    SHAPE_SQUARE,
    SHAPE_TRIANGLE,
    SHAPE_STAR,
    SHAPE_RING,
    SHAPE_CROSS,
    SHAPE_HEART,
    SHAPE_MOON,
    SHAPE_HEXAGON,
    SHAPE_ARROW,
    SHAPE_FORMS
};

struct drawn_shape {
    enum shape_form form;
    double x; /* centre, pixels; pixel (0,0) covers [0,1) x [0,1) */
    double y;
    double radius; /* half the side of the form's square, pixels */
    double turn;   /* radians */
    uint8_t color[IMAGE_CHANNELS];
};

/* Returns "circle", "square"...; also the class folder's name. */
const char *shape_name(enum shape_form form);

/* Returns the share of pixel (px, py) that the shape covers, 0..1. */
double shape_cover(const struct drawn_shape *shape, int px, int py);

/* Returns the pixels that the shape may touch, clipped to WIDTH x HEIGHT (empty: width 0). */
struct rect shape_bounds(const struct drawn_shape *shape, int width, int height);

/* Writes the outline of a form with straight sides, or of the circle as a polygon of 24 corners: x
 * and y alternating, in pixels. Returns the number of corners; 0 for other forms, or if MAX is too
 * small. */
size_t shape_outline(const struct drawn_shape *shape, double *ret_points, size_t max);

/* Draws over existing pixels. */
void shape_draw(const struct drawn_shape *shape, struct image *image);

/* Fills the picture with a smooth gradient of two colours and noise, keyed by (seed, picture). */
void shape_ground(struct image *image, const uint8_t from[IMAGE_CHANNELS],
                  const uint8_t to[IMAGE_CHANNELS], int noise, uint64_t seed, uint64_t picture);

#endif
