/* One picture of a set as it is written: copied, scaled down, or as pixels. */
#ifndef TRAINER_DATA_PREPARE_PICTURE_MAKE_H
#define TRAINER_DATA_PREPARE_PICTURE_MAKE_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/dataset/dataset.h"
#include "trainer/data/dataset/fetch.h"
#include "trainer/data/prepare/shard_set_options.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* State that a thread keeps between pictures. */
struct picture_maker {
    struct fetcher fetcher; /* decodes pictures that are converted */
    struct resizer resizer;
    struct image small;
    struct buf picture; /* as it is in the set */
    struct buf encoded; /* of a converted one */
};

int picture_maker_init(struct picture_maker *maker, struct error *err);
void picture_maker_done(struct picture_maker *maker);

/* Sets *RET_BYTES to the picture of SAMPLE, valid until the next call. *RET_BAD: it cannot be used,
 * and OPTIONS allow that. */
int picture_make(struct picture_maker *maker, const struct shard_set_options *options,
                 const struct dataset *set, size_t sample, const struct buf **ret_bytes,
                 bool *ret_bad, struct error *err);

/* The name under which it is written: that in its set, with .ppm for pixels. */
void picture_make_name(const struct shard_set_options *options, const struct dataset *set,
                       size_t sample, char ret[PATH_MAX]);

#endif
