/* Batches of a labelled set, for a classification network:
 *
 *     image    u8 [batch][image_size][image_size][3], RGB
 *     label    i32 [batch]; 0 for padding
 *     weight   f32 [batch]; 1, or 0 for padding and unusable pictures
 *
 * An unusable picture becomes grey. */
#ifndef TRAINER_DATA_DATASET_LABELLED_H
#define TRAINER_DATA_DATASET_LABELLED_H

#include "common/error.h"
#include "trainer/data/color/color.h"
#include "trainer/data/dataset/augment.h"
#include "trainer/data/dataset/dataset.h"
#include "trainer/data/dataset/source.h"

#include <stdint.h>

enum labelled_field { LABELLED_IMAGE, LABELLED_LABEL, LABELLED_WEIGHT };

struct labelled {
    const struct dataset *set; /* borrowed */
    struct augment augment;
    struct color_ranges color; /* after the geometry; zeroed: none */
    uint64_t seed;
};

/* Returns the layout of BATCH pictures of SIDE x SIDE pixels. */
struct batch_layout labelled_layout(int batch, int side);

/* Makes a source of LABELLED, which must outlive it. Fails if its recipe is invalid. */
int labelled_source(struct source *ret, const struct labelled *labelled, int batch,
                    struct error *err);

#endif
