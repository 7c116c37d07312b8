/* Batches of a detection set, for a detection network. The fields, with a batch of N and G slots
 * for objects:
 *
 *     image       u8 [N][image_bytes]    image_size  i32 [N][6]    key       i32 [N][4]
 *     gt_box      f32 [N][G][4]          gt_label    i32 [N][G]    gt_count  i32 [N]
 *     gt_mask_at  i32 [N][G][5]          mask_bits   u8 [N x bytes of a picture]
 *
 * and, if outlines are requested, with at most P polygons and Q points per picture:
 *
 *     gt_parts    i32 [N][G][2]          polygon     i32 [N][P][2]    point  f32 [N][Q][2]
 *
 * detection_fields.h and detection_sample.h define their contents. They are the same on every
 * canvas; the sampler's group determines the canvas of a batch (detection_groups.h). */
#ifndef TRAINER_DATA_DETECT_DETECTION_SOURCE_H
#define TRAINER_DATA_DETECT_DETECTION_SOURCE_H

#include "common/error.h"
#include "trainer/data/dataset/batch.h"
#include "trainer/data/dataset/source.h"
#include "trainer/data/detect/detection_sample.h"
#include "trainer/data/detect/detection_set.h"

#include <stddef.h>
#include <stdint.h>

enum { DETECTION_BITS_PICTURE_MAX = 16 * 1024 * 1024, DETECTION_BATCH_MAX = 4096 };

struct detection_samples {
    const struct detection_set *set; /* borrowed */
    struct detection_recipe recipe;
    int slots;               /* 1 .. DETECTION_SLOTS_MAX */
    int64_t bits_of_picture; /* bytes of masks, on average over a batch (detection_mask_bytes) */
    size_t image_bytes;      /* of a picture's slot: a minimum, which detection_source raises as
                              * needed */
    int polygons, points; /* capacity for a picture's outlines (detection_outline_measure); 0: only
                           * bitmaps */
};

/* Makes a source of SAMPLES, which must outlive it. Fails if the recipe is invalid. */
int detection_source(struct source *ret, struct detection_samples *samples, int batch,
                     struct error *err);

#endif
