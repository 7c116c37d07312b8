/* Batches of a labelled set, for a classification network:
 *
 *     image    u8 [batch][image_size][image_size][3], RGB
 *     label    i32 [batch]; 0 for padding
 *     weight   f32 [batch]; 1, or 0 for padding and unusable pictures
 *     key      i32 [batch][4], with `keyed`: source of random choices in the network
 *              (math/sample_key.h)
 *
 * With `sizes` the pictures of an epoch are smaller. An unusable picture becomes grey. */
#ifndef TRAINER_DATA_DATASET_LABELLED_H
#define TRAINER_DATA_DATASET_LABELLED_H

#include "common/error.h"
#include "trainer/data/color/blur.h"
#include "trainer/data/color/color.h"
#include "trainer/data/dataset/augment.h"
#include "trainer/data/dataset/dataset.h"
#include "trainer/data/dataset/fetch.h"
#include "trainer/data/dataset/shard_sequence.h"
#include "trainer/data/dataset/source.h"
#include "trainer/data/order/picture_sizes.h"

#include <stdbool.h>
#include <stdint.h>

enum labelled_field { LABELLED_IMAGE, LABELLED_LABEL, LABELLED_WEIGHT, LABELLED_KEY };

struct labelled {
    const struct dataset *set; /* borrowed */
    struct augment augment;
    struct color_ranges color; /* after the geometry; zeroed: none */
    struct blur blur;          /* after the colours; zeroed: none */
    uint64_t seed;
    bool keyed;                 /* batches have keys */
    struct picture_sizes sizes; /* below the recipe's side; zeroed: none */
    struct fetch_cache kept;    /* borrows its cache; zeroed: pictures are decoded each time */
    const struct shard_sequence *order; /* borrowed; NULL: nothing is read ahead */
    /* Of each canvas; made by labelled_source. */
    struct batch_layout layouts[PICTURE_SIZES_MAX + 1];
};

/* Returns the layout of BATCH pictures of SIDE x SIDE pixels, with keys or without. */
struct batch_layout labelled_layout(int batch, int side, bool keyed);

/* Makes a source of LABELLED, which must outlive it. Fails if its recipe is invalid. */
int labelled_source(struct source *ret, struct labelled *labelled, int batch, struct error *err);

#endif
