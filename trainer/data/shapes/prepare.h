/* Sample data that needs no download: JPEGs of coloured shapes on a noisy background, in class
 * folders,
 *
 *     FOLDER/train/CLASS/NNNNN.jpg     FOLDER/val/CLASS/NNNNN.jpg
 *
 * The same options and JPEG library give the same bytes. Position, size, rotation and colours are
 * random; only the form distinguishes the classes. */
#ifndef TRAINER_DATA_SHAPES_PREPARE_H
#define TRAINER_DATA_SHAPES_PREPARE_H

#include "common/error.h"

#include <stdint.h>

enum {
    PREPARE_COUNT_MAX = 10 * 1000 * 1000,
    PREPARE_SIDE_MIN = 16,
    PREPARE_SIDE_MAX = 4096,
};

struct prepare_options {
    const char *folder; /* created if missing; must not contain train or val yet */
    int train;          /* pictures in all, spread evenly over the classes */
    int validation;
    int classes;   /* 2 .. SHAPE_FORMS */
    int side;      /* side of the square pictures, pixels */
    int long_side; /* longer side of a detection set's pictures, which are landscape and portrait
                    * in turn; 0: all are square */
    int quality;   /* quality of the JPEGs, 1..100 */
    uint64_t seed;
    /* Called after each picture with the number of those that are written; NULL: not at all. */
    void (*written)(void *context, int64_t done);
    void *context;
};

void prepare_defaults(struct prepare_options *options);
int prepare_shapes(const struct prepare_options *options, struct error *err);

#endif
