/* To which size a picture is scaled before it is looked for objects: the short side to SHORT_SIDE,
 * unless the long one would exceed LONG_SIDE then; the ratio stays but for rounding, and that each
 * framework does in its own way:
 *
 * DETECT_SIZE_TV  torchvision: floor(side * scale), scale = min(short / min, long / max) in f64
 * DETECT_SIZE_D2  detectron2: scaled to the short side, then once more for the long one, + 0.5 cut
 * DETECT_SIZE_MB  maskrcnn-benchmark and MLPerf: the short side rounded (half to even) where the
 * long one limits, the long side cut
 *
 * Sides are at least one pixel. */
#ifndef TRAINER_DATA_DETECT_DETECT_SIZE_H
#define TRAINER_DATA_DETECT_DETECT_SIZE_H

#include "common/error.h"

enum detect_size_rule { DETECT_SIZE_TV, DETECT_SIZE_D2, DETECT_SIZE_MB };

enum { DETECT_SIDE_MAX = 8192 }; /* of what pictures are scaled to */

struct detect_sizes {
    enum detect_size_rule rule;
    int short_side; /* 1 .. long_side */
    int long_side;  /* .. DETECT_SIDE_MAX */
};

struct detect_size {
    int height;
    int width;
};

/* Are these sides that can be? The error names them. */
int detect_sizes_check(const struct detect_sizes *sizes, struct error *err);

/* Of a picture with sides above 0. */
struct detect_size detect_resized(const struct detect_sizes *sizes, struct detect_size picture);

#endif
