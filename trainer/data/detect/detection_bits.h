/* Masks as bit crops (math/mask_bits.h): made one by one for each place of a batch, by any
 * thread, then laid into the batch's pool in the order of places. So the pool does not depend on
 * who was first, and one picture may take more of it than another. */
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

/* The masks of one place. Zeroed is ready; used again and again. */
struct detection_bits {
    uint8_t *bytes; /* owned */
    size_t size;
    size_t capacity;
    int32_t objects_dropped; /* that the place had no slot for */
};

void detection_bits_done(struct detection_bits *bits);

/* One crop apart from others. Zeroed is ready. */
struct detection_crop {
    struct detection_bits bits;
    int32_t at[MASK_FIELDS];
};

void detection_crop_done(struct detection_crop *crop);

/* Appends the crop of MASK to BITS and says in RET_AT where it lies. A mask without a pixel becomes
 * a crop of one pixel, 0: the object has a mask, and it is empty. */
int detection_bits_add(struct detection_bits *bits, const struct rle *mask,
                       int32_t ret_at[MASK_FIELDS], struct error *err);

/* Appends a crop of one pixel, 0: the object has a mask, of which bits say nothing. */
int detection_bits_add_empty(struct detection_bits *bits, int32_t ret_at[MASK_FIELDS],
                             struct error *err);

/* How a picture and its masks are scaled by the nearest pixel, so that a mirrored reading of the
 * scaled mask gives the scaled mirrored mask, to the pixel. */
struct detection_scaling {
    struct detect_size from;
    struct detect_size to;
    bool flip;
};

/* Appends CROP, of a picture of the size SCALING.FROM, scaled. */
int detection_bits_add_scaled(struct detection_bits *bits, const struct detection_crop *crop,
                              const struct detection_scaling *scaling, int32_t ret_at[MASK_FIELDS],
                              struct error *err);

/* Lays the masks of all COUNT places into the pool and corrects gt_mask_at. Where they do not fit
 * the largest stay, and the objects of the others keep box and label alone; *RET_DROPPED says how
 * many. */
int detection_bits_gather(const struct detection_fields *fields, const struct detection_bits *bits,
                          int count, int64_t *ret_dropped, struct error *err);

#endif
