/* A data set written as shards or as folders of classes, with several threads.
 *
 *     TARGET/PART-00000-of-00008.tar ...     PART: train, validation
 *     TARGET/PART.rtix                     their index (dataset/shard_index.h)
 *     TARGET/classes.txt
 *
 *     TARGET/PART/CLASS/PICTURE              folders (folder_make.h)
 *
 * The samples of a part are spread over its shards evenly and at random, by a permutation of the
 * seed 0; the same set gives the same bytes. A shard appears under its name once it is complete and
 * on the disk, and is not made again: an interrupted run goes on with those that are missing. */
#ifndef TRAINER_DATA_PREPARE_SHARD_SET_H
#define TRAINER_DATA_PREPARE_SHARD_SET_H

#include "common/error.h"
#include "trainer/data/dataset/dataset.h"
#include "trainer/data/prepare/shard_set_options.h"

#include <stdint.h>

struct shard_set_part {
    const char *name; /* "train" */
    const struct dataset *set;
};

struct shard_set_result {
    int64_t pictures; /* in all parts */
    int64_t shards;   /* 0 in folders */
    int64_t kept;     /* shards, or pictures in folders, that were there already */
    int64_t bad;      /* pictures that were left out */
    int64_t bytes;
};

/* Errors: EXIT_CODE_DATA for a picture that cannot be used, EXIT_CODE_CONFIG for a target that
 * cannot be written to, has too little room, holds other shards, or is in use. */
int shard_set_write(const struct shard_set_options *options, const struct shard_set_part *parts,
                    size_t count, struct shard_set_result *ret, struct error *err);

#endif
