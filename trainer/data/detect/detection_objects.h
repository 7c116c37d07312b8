/* Objects of one picture as inputs of the network: boxes in pixels of the scaled and mirrored
 * picture (detection_draw.h); labels; masks as crops of the original picture (math/mask_bits.h),
 * or as outlines while they fit. If there are more objects than slots, the largest are kept, in
 * their order. */
#ifndef TRAINER_DATA_DETECT_DETECTION_OBJECTS_H
#define TRAINER_DATA_DETECT_DETECTION_OBJECTS_H

#include "common/error.h"
#include "trainer/data/coco/coco_segment.h"
#include "trainer/data/detect/detect_size.h"
#include "trainer/data/detect/detection_bits.h"
#include "trainer/data/detect/detection_draw.h"
#include "trainer/data/detect/detection_fields.h"
#include "trainer/data/detect/detection_set.h"
#include "trainer/eval/rle.h"
#include "trainer/eval/rle_polygon.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Scratch memory that a thread reuses between pictures. Initialize with zeros. */
struct detection_objects_scratch {
    struct coco_outline outline;
    struct rle_scratch scratch;
    struct rle mask;
    struct detection_crop crop; /* a mask before scaling */
    uint32_t *order;            /* owned; objects, largest first */
    size_t order_capacity;
};

void detection_objects_scratch_done(struct detection_objects_scratch *room);

/* Fills gt_box, gt_label, gt_count, gt_mask_at and outlines of place I, which is empty; the
 * bitmaps go to BITS, which must be empty, too. Errors name the JSON and the annotation. */
int detection_objects_fill(struct detection_objects_scratch *room, const struct detection_set *set,
                           size_t sample, const struct detection_draw *draw,
                           const struct detection_fields *fields, int i,
                           struct detection_bits *bits, struct error *err);

#endif
