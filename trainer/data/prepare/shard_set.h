/* A data set written as shards, with several threads.
 *
 *     TARGET/PART-00000-of-00008.tar ...     PART: train, validation
 *     TARGET/classes.txt
 *
 * The samples of a part are spread over its shards evenly and at random, by a permutation of the
 * seed 0; the same set gives the same bytes. A shard appears under its name once it is complete and
 * on the disk, and is not made again: an interrupted run goes on with those that are missing. */
#ifndef TRAINER_DATA_PREPARE_SHARD_SET_H
#define TRAINER_DATA_PREPARE_SHARD_SET_H

#include "common/error.h"
#include "trainer/data/dataset/dataset.h"
#include "trainer/data/format/format.h"

#include <stdint.h>

enum { SHARD_SET_SHARDS_MAX = 99999, SHARD_SET_THREADS_MAX = 256 };

struct shard_set_options {
    const char *target; /* folder; created if missing */
    const struct format *format;
    int64_t shards; /* of the first part; others get their share. 0: of 128 MiB */
    int resize;     /* short side of pictures that are larger; 0: pictures are copied */
    int quality;    /* of resized JPEGs, 1..100 */
    int threads;
    int64_t bad_allowed; /* pictures that may be left out, where they are resized */
    /* Called after some pictures with the number of those that are done, from any thread, one at a
     * time; NULL: not at all. */
    void (*written)(void *context, int64_t done);
    void *context;
};

struct shard_set_part {
    const char *name; /* "train" */
    const struct dataset *set;
};

struct shard_set_result {
    int64_t pictures; /* in all parts */
    int64_t shards;
    int64_t kept; /* shards that were there already */
    int64_t bad;  /* pictures that were left out */
    int64_t bytes;
};

/* Errors: EXIT_CODE_DATA for a picture that cannot be used, EXIT_CODE_CONFIG for a target that
 * cannot be written to, has too little room, holds other shards, or is in use. */
int shard_set_write(const struct shard_set_options *options, const struct shard_set_part *parts,
                    size_t count, struct shard_set_result *ret, struct error *err);

#endif
