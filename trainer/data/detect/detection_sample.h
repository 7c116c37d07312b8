/* One sample of a detector: picture, boxes, labels and masks, as inputs of the network.
 *
 * The picture is passed unchanged, 8 bits a channel at its own size: the network's first operator
 * scales, mirrors and pads it as `image_size` says. detection_objects.h provides the objects. A
 * picture with too many pixels is scaled here instead, with Pillow's filter, and its masks by
 * nearest neighbour; `image_size` then has the same size twice.
 *
 * Mirroring and scale are drawn from (seed, epoch, sample) alone, so that nothing depends on
 * threads, ranks or history. */
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

/* The host scales pictures with more pixels than this, if that makes them smaller. */
enum { DETECTION_PIXELS_DEFAULT = 1500 * 1000 };

struct detection_recipe {
    struct detect_sizes sizes;
    int short_low;      /* random scale: the short side is drawn from short_low, short_low + */
    int short_step;     /* short_step .. sizes.short_side; 0: always sizes.short_side */
    bool flip;          /* mirror horizontally with probability 1/2 */
    bool host_scale;    /* the host scales all pictures */
    int64_t pixels_max; /* see DETECTION_PIXELS_DEFAULT */
    uint64_t seed;
};

/* Fails if the recipe is invalid; the error names the field. */
int detection_recipe_check(const struct detection_recipe *recipe, struct error *err);

/* Returns the median of the random short sides: half of them do not exceed it. */
int detection_middle_side(const struct detection_recipe *recipe);

/* Draws the size and mirroring of a picture in an epoch: no larger than the recipe's sizes. */
struct detection_draw detection_draw(const struct detection_recipe *recipe,
                                     struct detect_size picture, uint32_t epoch, uint64_t sample);

/* Returns true if the host scales a picture that becomes SCALED. */
bool detection_is_host_scaled(const struct detection_recipe *recipe, struct detect_size picture,
                              struct detect_size scaled);

/* Returns the bytes that an image's slot needs for any picture of the set at any scale; a multiple
 * of 64. */
size_t detection_image_bytes(const struct detection_set *set,
                             const struct detection_recipe *recipe);

/* Returns the number of pictures that the host scales because they have too many pixels. */
size_t detection_host_scaled(const struct detection_set *set,
                             const struct detection_recipe *recipe);

/* Computes the bytes of masks of any picture, counting its largest SLOTS objects, from their
 * boxes: an upper bound if boxes contain their masks. OUTLINES: objects with polygons need almost
 * nothing. */
int detection_mask_bytes(const struct detection_set *set, const struct detection_recipe *recipe,
                         int slots, bool outlines, int64_t *ret, struct error *err);

/* State that a thread keeps between samples. Initialize with zeros. */
struct detection_worker {
    struct picture_reader reader;
    struct image picture;
    struct resizer resizer;
    struct detection_objects_scratch objects;
    const char *damage; /* damage of the last picture that was decoded over: in words; NULL for
                         * none */
};

void detection_worker_done(struct detection_worker *worker);

/* Makes a place empty, for padding. */
void detection_sample_clear(const struct detection_fields *fields, int i,
                            struct detection_bits *bits);

/* Fills place I of FIELDS except for its masks, which stay in BITS until the batch is complete
 * (detection_bits_gather). Errors name the file, or the JSON and the annotation; with
 * EXIT_CODE_DATA the sample is at fault, and its place is left empty. */
int detection_sample_fill(struct detection_worker *worker, const struct detection_set *set,
                          const struct detection_recipe *recipe, size_t sample, uint32_t epoch,
                          const struct detection_fields *fields, int i, struct detection_bits *bits,
                          struct error *err);

#define cleanup_detection_worker __attribute__((cleanup(detection_worker_done)))

#endif
