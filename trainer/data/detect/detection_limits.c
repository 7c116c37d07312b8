/* Memory that the samples of a set need. */
#include "trainer/data/detect/detection_sample.h"

#include "common/cleanup.h"
#include "trainer/math/mask_bits.h"

#include <math.h>
#include <stdlib.h>

enum { BYTES_STEP = 64 };

/* Margin by which a mask may exceed its box, in pixels: outlines are rounded, and boxes may
 * include their last pixels. */
enum { MARGIN = 2 };

/* Returns the size in which a picture reaches the network, at the largest scale. */
static struct detect_size handed(const struct detection_recipe *recipe,
                                 struct detect_size picture) {
    const struct detect_size scaled = detect_resized(&recipe->sizes, picture);
    return detection_is_host_scaled(recipe, picture, scaled) ? scaled : picture;
}

size_t detection_image_bytes(const struct detection_set *set,
                             const struct detection_recipe *recipe) {
    size_t most = 0;
    for (size_t i = 0; i < set->count; i++) {
        const struct detect_size size = handed(recipe, detection_picture_size(&set->pictures[i]));
        size_t pixels = (size_t)size.height * (size_t)size.width;
        most = pixels > most ? pixels : most;
    }
    return (most * IMAGE_CHANNELS + BYTES_STEP - 1) / BYTES_STEP * BYTES_STEP;
}

size_t detection_host_scaled(const struct detection_set *set,
                             const struct detection_recipe *recipe) {
    size_t count = 0;
    for (size_t i = 0; i < set->count && !recipe->host_scale; i++) {
        const struct detect_size picture = detection_picture_size(&set->pictures[i]);
        count += detection_is_host_scaled(recipe, picture, detect_resized(&recipe->sizes, picture));
    }
    return count;
}

/* Returns the pixels of a crop along an axis of the picture, which has FROM pixels and reaches the
 * network with TO. */
static int32_t extent(float first, float last, int from, int to) {
    double pixels = fmin(ceil((double)last) - floor((double)first) + MARGIN, from);
    if (from != to)
        pixels = fmin(ceil(pixels * to / from) + 1, to);
    return (int32_t)pixels;
}

static int64_t crop_bytes(const struct detection_object *object, struct detect_size picture,
                          struct detect_size size) {
    const float *box = object->box;
    return mask_bits_bytes(extent(box[0], box[2], picture.width, size.width),
                           extent(box[1], box[3], picture.height, size.height));
}

static int larger_first(const void *a, const void *b) {
    const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left < right) - (left > right);
}

int detection_mask_bytes(const struct detection_set *set, const struct detection_recipe *recipe,
                         int slots, bool outlines, int64_t *ret, struct error *err) {
    cleanup_free int64_t *crops = calloc((size_t)set->most + 1, sizeof(*crops));
    if (crops == NULL)
        return error_no_memory(err, "the sizes of masks");
    *ret = 0;
    for (size_t i = 0; i < set->count; i++) {
        const struct detection_picture *picture = &set->pictures[i];
        const struct detect_size whole = detection_picture_size(picture);
        const struct detect_size size = handed(recipe, whole);
        int64_t sum = 0;
        for (uint32_t k = 0; k < picture->count; k++) {
            const struct detection_object *object = &set->objects[picture->first + k];
            const bool drawn = outlines && set->index->annotations[object->annotation].kind ==
                                               COCO_SEGMENT_POLYGONS;
            crops[k] = !object->outlined ? 0 : drawn ? 1 : crop_bytes(object, whole, size);
        }
        if (picture->count > (uint32_t)slots)
            qsort(crops, picture->count, sizeof(*crops), larger_first);
        for (uint32_t k = 0; k < picture->count && k < (uint32_t)slots; k++)
            sum += crops[k];
        *ret = sum > *ret ? sum : *ret;
    }
    *ret = (*ret + BYTES_STEP - 1) / BYTES_STEP * BYTES_STEP;
    return 0;
}
