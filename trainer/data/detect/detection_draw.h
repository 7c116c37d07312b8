/* Random scale and mirroring of a picture in an epoch.
 *
 * Boxes and outlines are transformed alike. Frameworks differ in order and rounding, which are
 * reproduced (enum detect_size_rule):
 *
 *     DETECT_SIZE_TV  torchvision: mirrored, then scaled, in f32
 *     DETECT_SIZE_D2  detectron2: scaled, then mirrored, in double, then converted to f32
 *     DETECT_SIZE_MB  maskrcnn-benchmark: scaled, then mirrored, in f32; x of the last column is
 *                     width - 1, so that a mirrored x is width - 1 - x
 *                     (structures/bounding_box.py, segmentation_mask.py) */
#ifndef TRAINER_DATA_DETECT_DETECTION_DRAW_H
#define TRAINER_DATA_DETECT_DETECTION_DRAW_H

#include "trainer/data/detect/detect_size.h"

#include <stdbool.h>

struct detection_draw {
    struct detect_size scaled;
    bool flip;
    bool host_scaled; /* the host scales the picture, not the network */
    enum detect_size_rule rule;
};

/* Transforms BOX (x1, y1, x2, y2) of a picture of this size. */
void detection_draw_box(const struct detection_draw *draw, struct detect_size picture,
                        const float box[4], float ret[4]);
/* Transforms point (X, Y) of an outline. Points far outside the picture are clamped. */
void detection_draw_point(const struct detection_draw *draw, struct detect_size picture, double x,
                          double y, float ret[2]);

#endif
