/* Inputs of a detection network for one batch.
 *
 * They are written by the loader and read by the network's operators: N places, each with a picture
 * and up to `slots` objects. The numbers in image_size, gt_mask_at, key and gt_parts are defined in
 * math/image_size.h, mask_bits.h, sample_key.h and mask_target.h. */
#ifndef TRAINER_DATA_DETECT_DETECTION_FIELDS_H
#define TRAINER_DATA_DETECT_DETECTION_FIELDS_H

#include <stddef.h>
#include <stdint.h>

enum {
    DETECTION_SLOTS_DEFAULT = 128,
    DETECTION_SLOTS_MAX = 1024,
    DETECTION_BITS_DEFAULT = 128 * 1024, /* default minimum of mask bytes per picture */
};

struct detection_fields {
    int slots;
    size_t image_bytes; /* for one place */
    size_t pool_bytes;
    int polygons, points; /* outlines: capacity of one place; 0: no outlines */

    /* All borrowed. */
    uint8_t *image;      /* u8 [N][image_bytes]: rows of RGB without gaps, then zeros */
    int32_t *image_size; /* i32 [N][IMAGE_SIZE_FIELDS] */
    float *gt_box;       /* f32 [N][slots][4]: x1, y1, x2, y2; zeros after the last object */
    int32_t *gt_label;   /* i32 [N][slots]: from 1; 0 after the last object */
    int32_t *gt_count;   /* i32 [N] */
    int32_t *gt_mask_at; /* i32 [N][slots][MASK_FIELDS]; zeros after the last object */
    uint8_t *mask_bits;  /* u8 [pool_bytes], zeros after the last mask */
    int32_t *key;        /* i32 [N][SAMPLE_KEY_WORDS] */
    int32_t *gt_parts;   /* i32 [N][slots][MASK_PART_FIELDS]; NULL without outlines, all three */
    int32_t *polygon;    /* i32 [N][polygons][MASK_PART_FIELDS] */
    float *point;        /* f32 [N][points][2]: x, y in pixels of the resized picture */
};

/* Makes place I empty, for padding and unreadable samples: one pixel, no objects. */
void detection_fields_clear(const struct detection_fields *fields, int i);

#endif
