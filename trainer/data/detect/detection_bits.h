/* Masks as bitmap crops (math/mask_bits.h): made for each place of a batch separately, by any
 * thread, then copied into the batch's pool in the order of places. So the pool does not depend on
 * which thread was first, and one picture may use more of it than another. */
#ifndef TRAINER_DATA_DETECT_DETECTION_BITS_H
#define TRAINER_DATA_DETECT_DETECTION_BITS_H

#include "common/error.h"
#include "trainer/data/detect/detect_size.h"
#include "trainer/data/detect/detection_fields.h"
#include "trainer/eval/rle.h"
#include "trainer/math/mask_bits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DETECTION_BITS_MAX = 1 << 28 }; /* bytes of masks of one place */

/* Masks of one place. Initialize with zeros; reusable. */
struct detection_bits {
    uint8_t *bytes; /* owned */
    size_t size;
    size_t capacity;
    int32_t objects_dropped; /* objects for which the place had no slot */
};

void detection_bits_done(struct detection_bits *bits);

/* A single crop. Initialize with zeros. */
struct detection_crop {
    struct detection_bits bits;
    int32_t at[MASK_FIELDS];
};

void detection_crop_done(struct detection_crop *crop);

/* Appends the crop of MASK to BITS and writes its location to RET_AT. A mask without pixels
 * becomes a crop of one pixel, 0: the object has a mask, and it is empty. */
int detection_bits_add(struct detection_bits *bits, const struct rle *mask,
                       int32_t ret_at[MASK_FIELDS], struct error *err);

/* Appends a crop of one pixel, 0: the object has a mask, but not as a bitmap. */
int detection_bits_add_empty(struct detection_bits *bits, int32_t ret_at[MASK_FIELDS],
                             struct error *err);

/* Nearest-neighbour scaling of a picture and its masks. Reading the scaled mask mirrored gives
 * exactly the scaled mirrored mask. */
struct detection_scaling {
    struct detect_size from;
    struct detect_size to;
    bool flip;
};

/* Appends CROP, from a picture of size SCALING.FROM, scaled. */
int detection_bits_add_scaled(struct detection_bits *bits, const struct detection_crop *crop,
                              const struct detection_scaling *scaling, int32_t ret_at[MASK_FIELDS],
                              struct error *err);

/* Copies the masks of all COUNT places into the pool and updates gt_mask_at. If they do not fit,
 * the largest are kept, and the objects of the others keep only box and label; *RET_DROPPED is
 * their number. */
int detection_bits_gather(const struct detection_fields *fields, const struct detection_bits *bits,
                          int count, int64_t *ret_dropped, struct error *err);

#endif
