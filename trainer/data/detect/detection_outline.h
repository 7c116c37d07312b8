/* Outlines of objects as inputs of the network (math/mask_target.h).
 *
 * They are for trainings that rasterize a mask anew on the grid of each region instead of reading
 * it from a bitmap. A place of the batch has its own capacity of polygons and points, used by its
 * objects in order. An object gets a bitmap if its outline does not fit any more. */
#ifndef TRAINER_DATA_DETECT_DETECTION_OUTLINE_H
#define TRAINER_DATA_DETECT_DETECTION_OUTLINE_H

#include "common/error.h"
#include "trainer/data/coco/coco_segment.h"
#include "trainer/data/detect/detection_draw.h"
#include "trainer/data/detect/detection_fields.h"
#include "trainer/data/detect/detection_set.h"

#include <stdbool.h>

/* Limits for one place. */
enum { DETECTION_POLYGONS_MAX = 4096, DETECTION_POINTS_MAX = 1 << 16 };

/* Returns the capacity that fits any picture of the set, at least one polygon and one point.
 * Errors name the JSON and the annotation. */
int detection_outline_measure(const struct detection_set *set, int *ret_polygons, int *ret_points,
                              struct error *err);

/* How much of a place is in use. */
struct detection_outline_used {
    int polygons, points;
};

enum detection_outline_answer {
    DETECTION_OUTLINE_TAKEN,
    DETECTION_OUTLINE_FULL, /* it does not fit, */
    DETECTION_OUTLINE_NONE  /* or has no polygon of three points: nothing was changed */
};

/* Appends OUTLINE, of a picture of this size, to place I, as object OBJECT's. */
enum detection_outline_answer
detection_outline_add(const struct detection_fields *fields, int i, size_t object,
                      const struct coco_outline *outline, const struct detection_draw *draw,
                      struct detect_size picture, struct detection_outline_used *used);

#endif
