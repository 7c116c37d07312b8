#include "trainer/data/detect/detection_fields.h"

#include "trainer/math/image_size.h"
#include "trainer/math/mask_bits.h"
#include "trainer/math/mask_target.h"
#include "trainer/math/sample_key.h"

#include <string.h>

void detection_fields_clear(const struct detection_fields *fields, int i) {
    /* Order of math/image_size.h: a picture of one pixel that stays one, not mirrored and not
     * valid. No side is 0, as scales are quotients of sides. */
    static const int32_t NOTHING[IMAGE_SIZE_FIELDS] = {1, 1, 1, 1, 0, 0};
    const size_t at = (size_t)i, slots = (size_t)fields->slots;
    memset(fields->image + at * fields->image_bytes, 0, fields->image_bytes);
    memcpy(fields->image_size + at * IMAGE_SIZE_FIELDS, NOTHING, sizeof(NOTHING));
    memset(fields->gt_box + at * slots * 4, 0, slots * 4 * sizeof(*fields->gt_box));
    memset(fields->gt_label + at * slots, 0, slots * sizeof(*fields->gt_label));
    memset(fields->gt_mask_at + at * slots * MASK_FIELDS, 0,
           slots * MASK_FIELDS * sizeof(*fields->gt_mask_at));
    memset(fields->key + at * SAMPLE_KEY_WORDS, 0, SAMPLE_KEY_WORDS * sizeof(*fields->key));
    fields->gt_count[i] = 0;
    if (fields->polygons == 0)
        return;
    const size_t polygons = (size_t)fields->polygons, points = (size_t)fields->points;
    memset(fields->gt_parts + at * slots * MASK_PART_FIELDS, 0,
           slots * MASK_PART_FIELDS * sizeof(*fields->gt_parts));
    memset(fields->polygon + at * polygons * MASK_PART_FIELDS, 0,
           polygons * MASK_PART_FIELDS * sizeof(*fields->polygon));
    memset(fields->point + at * points * 2, 0, points * 2 * sizeof(*fields->point));
}
