/* Size to which a picture is scaled for detection.
 *
 * The short side becomes SHORT_SIDE, unless the long one would then exceed LONG_SIDE. The aspect
 * ratio is kept except for rounding, which differs between frameworks:
 *
 *     DETECT_SIZE_TV  torchvision: floor(side * scale), scale = min(short / min, long / max) in f64
 *     DETECT_SIZE_D2  detectron2: scaled to the short side, then again for the long one; + 0.5,
 *                     truncated
 *     DETECT_SIZE_MB  maskrcnn-benchmark and MLPerf: if the long side is the limit, the short side
 *                     is rounded (half to even) and the long side truncated
 *
 * Sides are at least one pixel. */
#ifndef TRAINER_DATA_DETECT_DETECT_SIZE_H
#define TRAINER_DATA_DETECT_DETECT_SIZE_H

#include "common/error.h"

enum detect_size_rule { DETECT_SIZE_TV, DETECT_SIZE_D2, DETECT_SIZE_MB };

enum { DETECT_SIDE_MAX = 8192 }; /* limit of scaled sides */

struct detect_sizes {
    enum detect_size_rule rule;
    int short_side; /* 1 .. long_side */
    int long_side;  /* .. DETECT_SIDE_MAX */
};

struct detect_size {
    int height;
    int width;
};

/* Fails if the sides are impossible; the error names them. */
int detect_sizes_check(const struct detect_sizes *sizes, struct error *err);

/* PICTURE must have sides above 0. */
struct detect_size detect_resized(const struct detect_sizes *sizes, struct detect_size picture);

#endif
