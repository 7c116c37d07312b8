/* Outlines of objects in the form of the network's inputs (math/mask_target.h): for trainings
 * that draw a mask anew on the grid of each region instead of reading it from bits.
 *
 * A place of the batch has room of its own for so many polygons and points, which its objects take
 * in their order. One whose outline does not fit any more has bits instead. */
#ifndef TRAINER_DATA_DETECT_DETECTION_OUTLINE_H
#define TRAINER_DATA_DETECT_DETECTION_OUTLINE_H

#include "common/error.h"
#include "trainer/data/coco/coco_segment.h"
#include "trainer/data/detect/detection_draw.h"
#include "trainer/data/detect/detection_fields.h"
#include "trainer/data/detect/detection_set.h"

#include <stdbool.h>

/* Of a place, at most. */
enum { DETECTION_POLYGONS_MAX = 4096, DETECTION_POINTS_MAX = 1 << 16 };

/* Polygons and points that a place needs for any picture of the set, at least one of each. Errors
 * name the JSON and the annotation. */
int detection_outline_measure(const struct detection_set *set, int *ret_polygons, int *ret_points,
                              struct error *err);

/* How much of a place is taken. */
struct detection_outline_used {
    int polygons, points;
};

enum detection_outline_answer {
    DETECTION_OUTLINE_TAKEN,
    DETECTION_OUTLINE_FULL, /* it does not fit, */
    DETECTION_OUTLINE_NONE  /* or has no polygon of three points: nothing was changed */
};

/* Puts OUTLINE, of a picture of this size, behind what place I has, as object OBJECT's. */
enum detection_outline_answer
detection_outline_add(const struct detection_fields *fields, int i, size_t object,
                      const struct coco_outline *outline, const struct detection_draw *draw,
                      struct detect_size picture, struct detection_outline_used *used);

#endif
