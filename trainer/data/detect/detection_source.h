/* Batches of a detection set, for a network that finds objects. The fields, N being the batch and G
 * the slots of objects:
 *
 *     image       u8 [N][image_bytes]    image_size  i32 [N][6]    key       i32 [N][4]
 *     gt_box      f32 [N][G][4]          gt_label    i32 [N][G]    gt_count  i32 [N]
 *     gt_mask_at  i32 [N][G][5]          mask_bits   u8 [N x bits of a picture]
 *
 * and, where outlines are asked for, of P polygons and Q points that a picture has at most:
 *
 *     gt_parts    i32 [N][G][2]          polygon     i32 [N][P][2]    point  f32 [N][Q][2]
 *
 * What they hold say detection_fields.h and detection_sample.h. They are the same on every canvas:
 * which one a batch is for says the sampler's group (detection_groups.h). */
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
    size_t image_bytes;      /* of a picture's slot: at least this; detection_source raises it */
    int polygons, points; /* of a picture's outlines (detection_outline_measure); 0: bits alone */
};

/* A source of SAMPLES, which outlives it. Fails where the recipe is none. */
int detection_source(struct source *ret, struct detection_samples *samples, int batch,
                     struct error *err);

#endif
