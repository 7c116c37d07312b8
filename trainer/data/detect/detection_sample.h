/* One sample of a detector: picture, boxes, labels and masks, in the form of the network's inputs.
 *
 * The picture goes as it is, 8 bits a channel at its own size: scaling, mirroring and padding are
 * the network's first operator, and `image_size` tells it what to do. What is to be found
 * in it is detection_objects.h's. A picture that has too many pixels is
 * scaled here already, with Pillow's filter, its masks by the nearest pixel; `image_size` has twice
 * the same size then.
 *
 * Mirroring and scale are drawn from (seed, epoch, sample) alone, so that nothing of a sample
 * depends on threads, ranks or the past. */
#ifndef TRAINER_DATA_DETECT_DETECTION_SAMPLE_H
#define TRAINER_DATA_DETECT_DETECTION_SAMPLE_H

#include "common/error.h"
#include "trainer/data/codec/image.h"
#include "trainer/data/codec/picture.h"
#include "trainer/data/codec/resize.h"
#include "trainer/data/detect/detect_size.h"
#include "trainer/data/detect/detection_bits.h"
#include "trainer/data/detect/detection_fields.h"
#include "trainer/data/detect/detection_objects.h"
#include "trainer/data/detect/detection_set.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pictures above this many pixels are scaled by the host when that makes them smaller. */
enum { DETECTION_PIXELS_DEFAULT = 1500 * 1000 };

struct detection_recipe {
    struct detect_sizes sizes;
    int short_low;      /* multi-scale: the short side is drawn from short_low, short_low + */
    int short_step;     /* short_step .. sizes.short_side; 0: always sizes.short_side */
    bool flip;          /* mirror left and right, one time in two */
    bool host_scale;    /* all pictures are scaled by the host */
    int64_t pixels_max; /* see DETECTION_PIXELS_DEFAULT */
    uint64_t seed;
};

/* Is this a recipe that can be run? The error names the field. */
int detection_recipe_check(const struct detection_recipe *recipe, struct error *err);

/* Of the short sides that are drawn the one that half of them do not exceed. */
int detection_middle_side(const struct detection_recipe *recipe);

/* What becomes of a picture in an epoch: no larger than by the recipe's sizes. */
struct detection_draw detection_draw(const struct detection_recipe *recipe,
                                     struct detect_size picture, uint32_t epoch, uint64_t sample);

/* Whether the host scales a picture that becomes SCALED. */
bool detection_is_host_scaled(const struct detection_recipe *recipe, struct detect_size picture,
                              struct detect_size scaled);

/* Bytes that an image's slot needs for any picture of the set, whatever is drawn; a multiple of 64.
 */
size_t detection_image_bytes(const struct detection_set *set,
                             const struct detection_recipe *recipe);

/* Pictures that are scaled by the host for their pixels alone. */
size_t detection_host_scaled(const struct detection_set *set,
                             const struct detection_recipe *recipe);

/* Bytes of masks of any picture's objects, of which the largest SLOTS count, by their boxes: an
 * upper bound where these hold their masks. OUTLINES: those that have polygons need next to none.
 */
int detection_mask_bytes(const struct detection_set *set, const struct detection_recipe *recipe,
                         int slots, bool outlines, int64_t *ret, struct error *err);

/* What a thread keeps between samples. Zeroed is ready. */
struct detection_worker {
    struct picture_reader reader;
    struct image picture;
    struct resizer resizer;
    struct detection_objects_room objects;
    const char *damage; /* of the last picture, decoded over: in words; NULL for none */
};

void detection_worker_done(struct detection_worker *worker);

/* An empty place: for padding. */
void detection_sample_clear(const struct detection_fields *fields, int i,
                            struct detection_bits *bits);

/* Fills place I of FIELDS but for its masks, which go to BITS until the batch is whole
 * (detection_bits_gather). Errors name the file, or the JSON and the annotation; those with
 * EXIT_CODE_DATA are the sample's fault, whose place is left empty then. */
int detection_sample_fill(struct detection_worker *worker, const struct detection_set *set,
                          const struct detection_recipe *recipe, size_t sample, uint32_t epoch,
                          const struct detection_fields *fields, int i, struct detection_bits *bits,
                          struct error *err);

#define cleanup_detection_worker __attribute__((cleanup(detection_worker_done)))

#endif
