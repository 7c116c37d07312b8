/* The inputs of a detection network for one batch, as the loader fills them and the network's
 * operators read them: N places, for each a picture and up to `slots` objects. What the numbers of
 * image_size, gt_mask_at, key and gt_parts are say math/image_size.h, mask_bits.h, sample_key.h
 * and mask_target.h. */
#ifndef TRAINER_DATA_DETECT_DETECTION_FIELDS_H
#define TRAINER_DATA_DETECT_DETECTION_FIELDS_H

#include <stddef.h>
#include <stdint.h>

enum {
    DETECTION_SLOTS_DEFAULT = 128,
    DETECTION_SLOTS_MAX = 1024,
    DETECTION_BITS_DEFAULT = 128 * 1024, /* bytes of masks a picture, at least */
};

struct detection_fields {
    int slots;
    size_t image_bytes; /* of one place */
    size_t pool_bytes;
    int polygons, points; /* outlines: room of one place; 0: there are none */

    /* All borrowed. */
    uint8_t *image;      /* u8 [N][image_bytes]: rows of RGB without gaps, zeros behind */
    int32_t *image_size; /* i32 [N][IMAGE_SIZE_FIELDS] */
    float *gt_box;       /* f32 [N][slots][4]: x1, y1, x2, y2; zeros behind the last object */
    int32_t *gt_label;   /* i32 [N][slots]: from 1; 0 behind */
    int32_t *gt_count;   /* i32 [N] */
    int32_t *gt_mask_at; /* i32 [N][slots][MASK_FIELDS]; zeros behind */
    uint8_t *mask_bits;  /* u8 [pool_bytes], zeros behind the last mask */
    int32_t *key;        /* i32 [N][SAMPLE_KEY_WORDS] */
    int32_t *gt_parts;   /* i32 [N][slots][MASK_PART_FIELDS]; NULL without outlines, all three */
    int32_t *polygon;    /* i32 [N][polygons][MASK_PART_FIELDS] */
    float *point;        /* f32 [N][points][2]: x, y in pixels of the resized picture */
};

/* An empty place: what padding is, and a sample that cannot be read. One pixel, no objects. */
void detection_fields_clear(const struct detection_fields *fields, int i);

#endif
